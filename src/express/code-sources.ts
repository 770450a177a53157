import type { Request } from 'express';
import { warnOnce } from '../diagnostics.js';
import { textOption } from '../options.js';
import { readsHeaders, variesOn } from './cache-headers.js';

/**
 * Where a visitor's purchase code is found in a request. Gives the code as it was sent, `undefined`
 * when there is none, or a promise of either. What is no string counts as an invalid code.
 */
export type CodeSource = (req: Request) => unknown;

const field = (from: unknown, name: string): unknown =>
  typeof from === 'object' && from !== null && Object.hasOwn(from, name)
    ? (from as Record<string, unknown>)[name]
    : undefined;

/** The code in a request header. */
export function fromHeader(name: string): CodeSource {
  const header = textOption('fromHeader', 'name', name).toLowerCase();
  return readsHeaders((req) => req.headers[header], [name]);
}

/** Bodies that the usual parsers read. Others, such as a file that is uploaded, hold no code. */
const FORM = /^\s*(?:application\/(?:json|x-www-form-urlencoded)|multipart\/form-data)\b/i;

/** Whether a body came that a parser should have read. */
const hasForm = ({ headers }: Request): boolean =>
  FORM.test(headers['content-type'] ?? '') &&
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);

/** The code in a field of the body, as `express.urlencoded()` or `express.json()` reads it. */
export function fromBody(name = 'purchase_code'): CodeSource {
  textOption('fromBody', 'name', name);
  return (req) => {
    if (req.body === undefined && hasForm(req)) warnOnce('MARKETGATE_NO_BODY_PARSER');
    return field(req.body, name);
  };
}

/** The code in the query. URLs are logged and shared, so nothing reads from there unless told to. */
export function fromQuery(name = 'purchase_code'): CodeSource {
  textOption('fromQuery', 'name', name);
  return (req) => field(req.query, name);
}

/** The code in a route parameter. It stands in the URL, as with {@link fromQuery}. */
export function fromParams(name = 'purchase_code'): CodeSource {
  textOption('fromParams', 'name', name);
  return (req) => field(req.params, name);
}

/** The code that the app keeps in its session. */
export function fromSession(name = 'purchase_code'): CodeSource {
  textOption('fromSession', 'name', name);
  return readsHeaders(
    (req) => {
      const { session } = req as { session?: unknown };
      if (session === undefined) warnOnce('MARKETGATE_NO_SESSION');
      return field(session, name);
    },
    ['Cookie'],
  );
}

/** The first of several sources that has a code. */
export function firstOf(...sources: CodeSource[]): CodeSource {
  if (sources.length === 0 || sources.some((source) => typeof source !== 'function')) {
    throw new TypeError(
      'firstOf: every source must be a function, as in fromHeader("x-purchase-code")',
    );
  }
  return readsHeaders(
    (req) => pick(sources, 0, req),
    sources.flatMap((source) => variesOn(source)),
  );
}

function pick(sources: readonly CodeSource[], from: number, req: Request): unknown {
  for (let i = from; i < sources.length; i++) {
    const code = (sources[i] as CodeSource)(req);
    if (isPromise(code)) {
      return code.then((later) => (isAbsent(later) ? pick(sources, i + 1, req) : later));
    }
    if (!isAbsent(code)) return code;
  }
  return undefined;
}

/** Whether a source found nothing. */
export const isAbsent = (code: unknown): boolean =>
  code === undefined || code === null || (typeof code === 'string' && code.trim() === '');

/** Whether a value comes later. */
export const isPromise = <T>(value: T | Promise<T>): value is Promise<T> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
