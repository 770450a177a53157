const REDACTED = '[redacted]';
const LONGEST = 200;
/** Far more than is shown, and little enough for the patterns. */
const MOST_READ = 4096;

// What looks like a key, a token or a purchase code, even if it is not one that we sent: a run of 16
// or more letters and digits (with dashes) that holds a digit.
const TOKEN_LIKE = /(?=[\w-]*\d)[\w-]{16,}/g;

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

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
  let clean = withoutForms(text, secrets);
  clean = clean
    .replace(TOKEN_LIKE, REDACTED)
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  return clean.length > LONGEST ? `${clean.slice(0, LONGEST)}…` : clean;
}

/** As much of the text as is read, without the secrets. */
function withoutForms(text: string, secrets: readonly string[]): string {
  const forms = secrets.filter((secret) => secret !== '').flatMap((secret) => [...formsOf(secret)]);
  // Longest first, so that a secret inside another does not leave the rest of it standing.
  forms.sort((a, b) => b.length - a.length);
  const [longest = ''] = forms;
  // Read a little further, so that one which begins before the cut is known for what it is.
  const read = text.slice(0, MOST_READ + longest.length);
  let clean = '';
  let at = 0;
  if (forms.length > 0) {
    for (const { 0: found, index } of read.matchAll(
      new RegExp(forms.map(escaped).join('|'), 'gi'),
    )) {
      if (index >= MOST_READ) break;
      clean += read.slice(at, index) + REDACTED;
      at = index + found.length;
    }
  }
  clean += read.slice(at, Math.max(at, MOST_READ));
  // What the cut went through could be the beginning of something secret.
  return text.length > MOST_READ ? clean.replace(/[^\s]*$/, '') : clean;
}
