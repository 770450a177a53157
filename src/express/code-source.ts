import { isUtf8 } from 'node:buffer';
import { validateHeaderName } from 'node:http';
import type { Request } from 'express';
import { sentText } from '../check/purchase-check.js';
import { warnOnce } from '../diagnostics.js';
import { type Check, text, wrongOption } from '../options.js';
import { queryOf } from '../web/request.js';

/**
 * Reads the purchase code from a request. Gives the code as it was sent, `undefined` when there is none, or a promise of
 * either. Of an array, a single text counts; any other value is an invalid code.
 */
export interface CodeSource {
  (req: Request): unknown;
  /** The request headers that it reads, for `Vary`. */
  readonly headers?: readonly string[];
}

/** Reads the code from a request header. @throws TypeError for what cannot be the name of one. */
export function fromHeader(name: string): CodeSource {
  const header = headerName('fromHeader', 'name', name).toLowerCase();
  const read = (req: Request): unknown => {
    const value = req.headers[header];
    if (typeof value !== 'string') return value;
    const text = /[^ -~]/.test(value) ? inUtf8(value) : value;
    // Node.js and proxies join the values of a header that was sent twice.
    return text.includes(', ') ? text.split(', ') : text;
  };
  return Object.assign(read, { headers: [name] });
}

/**
 * The text of a header. Node.js reads its bytes as Latin-1, but curl, Go and PHP send UTF-8: of a pasted code, that can be a
 * no-break space or the dash of a word processor.
 */
function inUtf8(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  // A header of a mock can be any text.
  return isUtf8(bytes) && !/[\u0100-\uffff]/.test(value) ? bytes.toString() : value;
}

/** Reads the code from a field of the body, as parsed by `express.urlencoded()` or `express.json()`. */
export function fromBody(name = 'purchase_code'): CodeSource {
  return fromField('fromBody', name, (req) => {
    if (isUnparsed(req)) warnOnce('MARKETGATE_NO_BODY_PARSER');
    return req.body;
  });
}

/** Reads the code from the query. Not part of the default, because URLs are logged and shared. */
export function fromQuery(name = 'purchase_code'): CodeSource {
  return fromField('fromQuery', name, queryOf);
}

/** Reads the code that the app has stored in its session. */
export function fromSession(name = 'purchase_code'): CodeSource {
  const source = fromField('fromSession', name, (req) => {
    const { session } = req as { session?: unknown };
    if (session === undefined) warnOnce('MARKETGATE_NO_SESSION');
    return session;
  });
  return Object.assign(source, { headers: ['Cookie'] });
}

/** Reads the code from the first source that has one. */
export function firstOf(...sources: CodeSource[]): CodeSource {
  if (sources.length === 0 || sources.some((source) => typeof source !== 'function')) {
    throw new TypeError(
      'firstOf: every source must be a function, as in fromHeader("x-purchase-code")',
    );
  }
  const pick = async (req: Request): Promise<unknown> => {
    for (const source of sources) {
      const code = await source(req);
      if (sentText(code) !== undefined) return code;
    }
    return undefined;
  };
  return Object.assign(pick, { headers: sources.flatMap(({ headers = [] }) => headers) });
}

/** Where a guard reads the code from. */
export const codeOption: Check<CodeSource> = (owner, name, value) => {
  if (value === undefined) return firstOf(fromHeader('X-Purchase-Code'), fromBody());
  if (typeof value === 'function') return value as CodeSource;
  throw wrongOption(owner, name, 'must be a function, as in fromHeader("x-purchase-code")');
};

const headerName: Check<string> = (owner, name, value) => {
  const header = text()(owner, name, value);
  try {
    validateHeaderName(header);
  } catch {
    throw wrongOption(owner, name, 'must be the name of a header, as in "x-purchase-code"');
  }
  if (!header.includes('_')) return header;
  const why = 'proxies such as nginx drop a header whose name has one';
  throw wrongOption(owner, name, `must not have an underscore, because ${why}; use "-"`);
};

/** The name of a field. Blanks around it and line breaks come from pasting: no parser gives a field such a name. */
const fieldName: Check<string> = (owner, name, value) => {
  const field = text()(owner, name, value);
  if (field === field.trim() && !/\p{Cc}/u.test(field)) return field;
  throw wrongOption(owner, name, 'must be the name of a field, without blanks around it');
};

/** Makes a source that reads a property of an object of the request. */
function fromField(owner: string, name: string, from: (req: Request) => unknown): CodeSource {
  const field = fieldName(owner, 'name', name);
  return (req) => {
    const fields = from(req);
    const hasField = typeof fields === 'object' && fields !== null && Object.hasOwn(fields, field);
    return hasField ? (fields as Record<string, unknown>)[field] : undefined;
  };
}

/** Content types whose body can have the code as a field or as text. Others, as of an uploaded file, contain none. */
const CAN_HAVE_CODE =
  /^\s*(?:$|text\/|multipart\/|application\/(?:x-www-form-urlencoded|.*\b(?:json|xml)\b))/i;

/** Whether the request has a body that no parser has read into fields. */
function isUnparsed(req: Partial<Request>): boolean {
  const { headers = {}, body } = req;
  const hasBody =
    Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
  if (!hasBody || !CAN_HAVE_CODE.test(headers['content-type'] ?? '')) return false;
  if (typeof body !== 'object' || body === null || body instanceof Uint8Array) return true;
  // The parsers of Express 4 give an empty object where they are for another type.
  return Object.keys(body).length === 0 && req.readableDidRead === false;
}
