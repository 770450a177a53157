/** A secret and the forms in which it is still one, all in small letters. */
export interface KnownSecret {
  readonly value: string;
  readonly forms: readonly string[];
}

/** Below this, half a secret is too common a word to look for. */
const LONG_ENOUGH_TO_HALVE = 16;
const PART = 8;

/**
 * The forms of a secret that a reader of a log could turn back: as it is, percent-encoded (as a query
 * has it, or every byte), JSON-escaped, in hex, and the middle of its base64 for each of the three ways
 * in which the bytes before it can end. Capitals and small letters are one, see {@link secretsIn}.
 *
 * @param withParts - also its first and last 8 characters: a mask that shows these shows too much.
 */
export function formsOf(secret: string, withParts = false): KnownSecret {
  const bytes = Buffer.from(secret);
  const inQuery = encodeURIComponent(bytes.toString());
  const forms = [
    secret,
    inQuery,
    inQuery.replaceAll('%20', '+'),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('hex'),
    [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
    ...[0, 1, 2].flatMap((before) =>
      (['base64', 'base64url'] as const).map((encoding) =>
        Buffer.concat([Buffer.alloc(before), bytes])
          .toString(encoding)
          .slice(4, -4),
      ),
    ),
    ...(withParts && secret.length >= LONG_ENOUGH_TO_HALVE
      ? [secret.slice(0, PART), secret.slice(-PART)]
      : []),
  ];
  const distinct = new Set(forms.map((form) => form.toLowerCase()));
  return { value: secret, forms: [...distinct].filter((form) => form.length >= PART) };
}

/** Which of the secrets a text shows, in any of their forms and any letter case. */
export function secretsIn(text: string, secrets: Iterable<KnownSecret>): string[] {
  const small = text.toLowerCase();
  const found: string[] = [];
  for (const { value, forms } of secrets) {
    if (forms.some((form) => small.includes(form))) found.push(value);
  }
  return found;
}
