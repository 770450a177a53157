import { Failure, unavailable } from '../http/failure.js';
import { ifUnset, refuseStray, strayCharacters, wrongOption } from '../options.js';

/** The secret api_key, or a function that returns the current one, so that it can be rotated. */
export type ApiKeyOption = string | (() => string | Promise<string>);

/** Checks the option once; the function that it returns checks each key. */
export function apiKeySource(
  owner: string,
  name: string,
  option: unknown,
): () => string | Promise<string> {
  if (typeof option === 'function') {
    return async () => {
      // The error is dropped, because it can contain secrets.
      const key: unknown = await Promise.resolve()
        .then(option as () => unknown)
        .catch(() => undefined);
      const isText = typeof key === 'string' && key.trim() !== '';
      const problem = isText ? strayCharacters(key) : 'failed, or gave no non-empty string';
      if (isText && problem === undefined) return key.trim();
      throw unavailable(
        `KeyApi: the function given as "apiKey" ${isText ? `gave a key that ${problem}` : problem}; look at where it reads the key from`,
        new Failure('NO_API_KEY'),
      );
    };
  }
  if (typeof option === 'string' && option.trim() !== '') {
    refuseStray(owner, name, option);
    const key = option.trim();
    return () => key;
  }
  const expected = 'must be a non-empty string or a function that gives one';
  throw wrongOption(owner, name, expected + ifUnset(option));
}
