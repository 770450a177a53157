/** What the body of an answer was: JSON, or what else, in words fit for an error message. */
export type JsonBody =
  | { readonly isJson: true; readonly value: unknown }
  | { readonly isJson: false; readonly what: string };

const notJson = (what: string): JsonBody => ({ isJson: false, what });

/**
 * Reads a body as JSON. A byte order mark and blank space ahead of it are skipped. Other text is not:
 * what a PHP warning precedes may have been cut or altered as well. The error only says that there
 * was some, for a body can repeat what was sent.
 */
export function readJson(body: Buffer): JsonBody {
  let text = body.toString('utf8');
  // `trimStart` counts the mark as blank space.
  if (text.charCodeAt(0) === 0xfeff) text = text.trimStart();
  try {
    return { isJson: true, value: JSON.parse(text) };
  } catch {
    return notJson(describe(text.trimStart()));
  }
}

function describe(text: string): string {
  if (text === '') return 'an empty body';
  if (/^<(!doctype|html|head|body|\?xml)/i.test(text)) return 'an HTML page';
  const brace = text.search(/[{[]/);
  if (brace > 0 && parses(text.slice(brace))) return 'text ahead of the JSON';
  if (text.startsWith('<') || /<(html|body|title)\b/i.test(text)) return 'an HTML page';
  if (brace === 0) return 'broken or cut JSON';
  return brace > 0 ? 'text ahead of the JSON' : 'text that is not JSON';
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
