const REDACTED = '[redacted]';
const LONGEST = 200;
/** Far more than is shown, and little enough for the patterns. */
const MOST_READ = 4096;

// What looks like a key, a token or a purchase code, even if it is not one that we sent: a run of 16
// or more letters and digits (with dashes) that holds a digit.
const TOKEN_LIKE = /(?=[\w-]*\d)[\w-]{16,}/g;

const patternOf = (text: string): RegExp =>
  new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'gi');

function formsOf(secret: string): Set<string> {
  const inQuery = encodeURIComponent(secret);
  return new Set([
    secret,
    inQuery,
    inQuery.replaceAll('%20', '+'),
    JSON.stringify(secret).slice(1, -1),
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  ]);
}

/**
 * A sentence of the service made fit for an error message: the given secrets and whatever looks like
 * one are taken out, control characters too, and it is cut to a readable length. Services do repeat
 * what they were sent.
 */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text.slice(0, MOST_READ);
  const forms = secrets.filter((secret) => secret !== '').flatMap((secret) => [...formsOf(secret)]);
  // Longest first, so that a secret inside another does not leave the rest of it standing.
  forms.sort((a, b) => b.length - a.length);
  for (const form of forms) clean = clean.replace(patternOf(form), REDACTED);
  clean = clean
    .replace(TOKEN_LIKE, REDACTED)
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  return clean.length > LONGEST ? `${clean.slice(0, LONGEST)}…` : clean;
}
