import type { KeyApiOptions } from 'marketgate';
import { keyApiOn, VALIDATION } from '../../support/key-api-service.js';
import { json, page, type Reply } from '../../support/service-in-memory.js';
import { purchase, refusal, success } from '../../support/wire.js';

export const MINUTE = 60_000;

/** What a service says about a code, by the letters that the code begins with. */
const ANSWERS: Record<string, (code: string) => Reply> = {
  valid: (code) => json(success({ data: { purchase: { ...purchase, purchase_code: code } } })),
  wrong: () => json(refusal('Invalid purchase code'), 404),
  fails: () => page(500),
  hangs: () => page(503),
  busy: () => page(429),
  words: () => json(refusal('That is odd')),
  html: () => page(200),
};

/** How a call ends: the verdict, or the code of the error. */
export const endOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    (found) => (found === null ? 'invalid' : 'valid'),
    (error) => error.code ?? error.message,
  );

/**
 * A service that answers `wrong-1` with no, `valid-1` with yes, and so on; and how the question of a client about a code ends.
 * Every code is another one, unless it is numbered.
 */
export function shopWith(options: Partial<KeyApiOptions> = {}) {
  const { service, keyApi } = keyApiOn({}, options);
  // The check of the api_key is remembered, and not what is counted here.
  const ready = keyApi.getAccount();
  service.override = ({ path, parameter }) => {
    if (path !== VALIDATION) return undefined;
    const code = String(parameter('purchase_code'));
    return ANSWERS[code.replace(/-.*/, '')]?.(code);
  };
  let codes = 0;
  const ask = async (kind: string, client: unknown = 'anna', call: object = {}) => {
    await ready;
    const code = kind.includes('-') ? kind : `${kind}-${++codes}`;
    return endOf(keyApi.validatePurchase(code, { client: client as string, ...call }));
  };
  return {
    service,
    keyApi,
    ask,
    /** How the questions of one client end, one after the other. */
    async askAll(...kinds: string[]): Promise<string[]> {
      const ends = [];
      for (const kind of kinds) ends.push(await ask(kind));
      return ends;
    },
    /** How often it was asked about codes. */
    asked: () => service.asked(),
  };
}

/** The same, where each client has so many guesses. */
export const shopOf = (limit: number, options: Partial<KeyApiOptions> = {}) =>
  shopWith({ guessLimit: { limit }, ...options });
