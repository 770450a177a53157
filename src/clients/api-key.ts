import { MarketgateError } from '../errors.js';
import { wrongOption } from '../options.js';

/** The secret api_key, or a function that gives the present one, so that it can be rotated. */
export type ApiKeyOption = string | (() => string | Promise<string>);

/** Reads the option once, and the key with every call. */
export function apiKeySource(owner: string, option: unknown): () => string | Promise<string> {
  if (typeof option === 'function') {
    return async () => checked(await asked(owner, option as () => string | Promise<string>));
  }
  if (typeof option !== 'string' || option.trim() === '') {
    throw wrongOption(owner, 'apiKey', 'must be a non-empty string or a function that gives one');
  }
  return () => option;

  function checked(key: unknown): string {
    if (typeof key === 'string' && key.trim() !== '') return key;
    throw new MarketgateError(
      'service_unavailable',
      `${owner}: the function given as "apiKey" did not give a non-empty string; look at where it reads the key from`,
    );
  }
}

async function asked(owner: string, option: () => string | Promise<string>): Promise<unknown> {
  try {
    return await option();
  } catch {
    // The function's own error is not kept: it comes from a store of secrets.
    throw new MarketgateError(
      'service_unavailable',
      `${owner}: the function given as "apiKey" failed; look at where it reads the key from`,
    );
  }
}
