import { inspect } from 'node:util';

const REDACTED = '[redacted]';
/** The most characters that are shown, and of a text of which something is shown. */
const MAX_SHOWN = 200;
const MAX_READ = 4096;

// What looks like a key, a token or a purchase code, also one that we did not send: 16 or more letters,
// digits and dashes, with at least one digit. Searched from the beginning of such a run only, which is linear.
const TOKEN_LIKE = /(?<![\w-])(?=[\w-]*\d)[\w-]{16,}/g;

/** The escapes of a query, of JSON and of HTML. A secret behind them would not be found. */
const ESCAPE = /%[\da-f]{2}|\\|&#?\w+;/i;

/** Matches any of these texts, the longest first because a secret can be part of another one; `undefined`: there is none. */
function patternOf(texts: readonly string[]): RegExp | undefined {
  const sources = [...new Set(texts)]
    .filter((text) => text !== '')
    .sort((a, b) => b.length - a.length)
    // A query has `+` for a blank.
    .map((text) => text.replace(/[.*?^${}()|[\]\\]/g, '\\$&').replace(/[+ ]/g, '[+ ]'));
  return sources.length > 0 ? new RegExp(sources.join('|'), 'gi') : undefined;
}

/**
 * Prepares text of the service for an error message, because services repeat what they were sent: removes the given
 * secrets, whatever looks like a secret, and control characters, and cuts it to a readable length. Nothing is shown of a
 * text that is very long or has escapes.
 */
export function redact(text: string, secrets: readonly string[]): string {
  if (text.length > MAX_READ || ESCAPE.test(text)) return REDACTED;
  // Services trim what they were sent.
  const pattern = patternOf(secrets.map((secret) => secret.trim()));
  const plain = (pattern ? text.replace(pattern, REDACTED) : text)
    .replace(TOKEN_LIKE, REDACTED)
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  return plain.length > MAX_SHOWN ? `${plain.slice(0, MAX_SHOWN)}…` : plain;
}

/**
 * What a function of the app's has thrown: unchanged if it shows no secret anywhere. Otherwise an error of the same class with
 * its words, in which the secrets are replaced, and nothing else of it.
 */
export function withoutSecrets(thrown: unknown, secrets: readonly string[]): unknown {
  const pattern = patternOf(secrets.flatMap(spellingsOf));
  if (pattern === undefined) return thrown;
  const clean = (text: unknown): string => String(text).replace(pattern, REDACTED);
  if (typeof thrown === 'string') return clean(thrown);
  // `search`, because `test` would go on from the last match.
  if (everythingIn(thrown).search(pattern) === -1) return thrown;
  if (!(thrown instanceof Error)) return new Error('the error shows a secret, and was dropped');
  const { name, message, stack, code } = thrown as NodeJS.ErrnoException;
  const copy = Object.assign(new Error(clean(message)), { stack: clean(stack) });
  Object.setPrototypeOf(copy, Object.getPrototypeOf(thrown));
  if (copy.name !== name) copy.name = clean(name);
  return code === undefined ? copy : Object.assign(copy, { code: clean(code) });
}

/** How a secret can stand in a URL, a form or JSON. */
const spellingsOf = (secret: string): string[] => [
  secret,
  encodeURIComponent(secret),
  new URLSearchParams({ '': secret }).toString().slice(1),
  JSON.stringify(secret).slice(1, -1),
];

/** Whatever a log could print of a value. */
function everythingIn(value: unknown): string {
  const all = { depth: 10, maxArrayLength: 1000, maxStringLength: Number.POSITIVE_INFINITY };
  let json = '';
  try {
    json = JSON.stringify(value) ?? '';
  } catch {
    // A cycle: `inspect` can print it.
  }
  return `${inspect(value, all)} ${json}`;
}
