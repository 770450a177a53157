/** What stands in a record where a secret was. */
export const REDACTED = '[redacted]';

/** Parameter names that carry secrets on either interface or on the sandbox's own pages. */
const SECRET_NAME = /key|secret|token|code|pass|auth|cookie|attempt|session/i;

/** Secrets also turn up in the wrong place: key-like words, UUIDs, anything long without a blank. */
const SECRET_SHAPE = /[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}|[\w~+/=-]{24,}/i;

const looksSecret = (text: string): boolean => SECRET_SHAPE.test(text) || text.length > 100;

/** Says what a parameter was, unless its name or its look says that it is a secret. */
export function redactedValue(name: string, value: unknown): string {
  if (SECRET_NAME.test(name)) return REDACTED;
  if (typeof value === 'object' && value !== null) return REDACTED;
  const text = String(value);
  return looksSecret(text) ? REDACTED : text;
}

/** A name, unless somebody sent a secret in its place (`?6f1c2a54-…`). */
export const redactedName = (name: string): string => (looksSecret(name) ? REDACTED : name);

/** A path without what looks like a secret; media and page paths stay readable. */
export const redactedPath = (path: string): string =>
  path
    .split('/')
    .map((segment) => (looksSecret(segment) ? REDACTED : segment))
    .join('/');
