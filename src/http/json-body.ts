import { isAscii } from 'node:buffer';

/** What the body of an answer was: JSON, or what else, in words fit for an error message. */
export type JsonBody =
  | { readonly isJson: true; readonly value: unknown }
  | { readonly isJson: false; readonly what: string };

const notJson = (what: string): JsonBody => ({ isJson: false, what });

/** Bytes that are decoded and parsed in one turn: a millisecond or so. */
const ONE_TURN = 256 * 1024;

/** Whether a body is better read by {@link readJsonInTurns}. */
export const isLong = (body: Buffer): boolean => body.length > ONE_TURN;

/**
 * Reads a long body as {@link readJson} does, with turns for others before and after it is decoded:
 * nobody waits for longer than `JSON.parse` takes, which cannot be divided.
 */
export async function readJsonInTurns(body: Buffer, turn: () => Promise<void>): Promise<JsonBody> {
  await turn();
  // Plain ASCII is a copy of bytes; UTF-8 costs several times that.
  const text = body.toString(isAscii(body) ? 'latin1' : 'utf8');
  await turn();
  const read = parse(text);
  await turn();
  return read;
}

/**
 * Reads a body as JSON. A byte order mark and blank space ahead of it are skipped. Other text is not:
 * what a PHP warning precedes may have been cut or altered as well. The error only says that there
 * was some, for a body can repeat what was sent.
 */
export const readJson = (body: Buffer): JsonBody => parse(body.toString('utf8'));

function parse(decoded: string): JsonBody {
  // `trimStart` counts the mark as blank space, wherever it stands in it.
  const text = decoded.trimStart();
  try {
    return { isJson: true, value: JSON.parse(text) };
  } catch {
    return notJson(describe(text));
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
