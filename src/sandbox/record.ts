import type { Request, RequestHandler } from 'express';
import type { SandboxClock } from './clock.js';
import { bodyParameters, interfaceOf, queryParameters, type SandboxInterface } from './request.js';

const MAX_RECORDS = 1000;

/** One request that the sandbox got, without secrets. */
export interface SandboxRequest {
  /** When it came in, in epoch milliseconds by the sandbox's clock. */
  readonly at: number;
  /** The HTTP method. */
  readonly method: string;
  /** Without the query, which carries secrets. */
  readonly path: string;
  /** Which part of the sandbox it went to. */
  readonly interface: SandboxInterface;
  /** The HTTP status that was sent; 0 while there is none (a hanging answer, say). */
  readonly status: number;
  /** What a refusal says: `msg` of the key API, `message` of the login API. */
  readonly msg?: string | undefined;
  /**
   * Query and body parameters: their values, or `[redacted]` where one is or looks like a secret. A purchase
   * code shows its last four characters.
   */
  readonly params: Readonly<Record<string, string>>;
  /** Those of `params` that came in the body, or what body it was that no endpoint reads; `undefined` without one. */
  readonly body?: Readonly<Record<string, string>> | string | undefined;
  /** The body of the answer, likewise without secrets: JSON, or how long it was; `undefined` for none. */
  readonly answer?: unknown;
  /** Whether the answer has not ended, and the client still waits for it. */
  readonly isOpen: boolean;
  /** Real milliseconds until the answer ended, or so far. */
  readonly durationMs: number;
}

const REDACTED = '[redacted]';

/** Parameter names that carry secrets on either API or on the sandbox's own pages. */
const SECRET_NAME = /key|secret|token|code|pass|auth|cookie|attempt|session/i;

/** Secrets also turn up in the wrong place: key-like words, UUIDs, anything long without a blank. */
const SECRET_SHAPE = /[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}|[\w~+/=-]{24,}|.{101}/is;

const redacted = (text: string): string => (SECRET_SHAPE.test(text) ? REDACTED : text);

/** A part of a path, with a secret also where it is percent-encoded. */
function redactedPart(part: string): string {
  try {
    return SECRET_SHAPE.test(decodeURIComponent(part)) ? REDACTED : part;
  } catch {
    return REDACTED;
  }
}

function redactedValue(name: string, value: unknown): string {
  if (name === 'purchase_code' && typeof value === 'string' && value.length > 20) {
    return `${REDACTED} …${value.slice(-4)}`;
  }
  const isSecret = SECRET_NAME.test(name) || (typeof value === 'object' && value !== null);
  return isSecret ? REDACTED : redacted(String(value));
}

const redactedFields = (fields: object): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [redacted(name), redactedValue(name, value)]),
  );

/** The longest answer that is recorded as it is. */
const MAX_ANSWER = 16_384;

/** The body of an answer without secrets: JSON, or how long it was. */
function redactedAnswer(body: unknown): unknown {
  if (typeof body !== 'string') return undefined;
  const length = `${body.length} characters`;
  if (body.length > MAX_ANSWER) return length;
  try {
    // A URL is no secret, however long: no answer has one with a secret in it.
    return JSON.parse(body, (name, value) =>
      typeof value !== 'string' || /^https?:/.test(value) ? value : redactedValue(name, value),
    );
  } catch {
    return length;
  }
}

/** The fields of a body, or what body it was that no endpoint reads. */
function redactedBody(req: Request): SandboxRequest['body'] {
  const fields = bodyParameters(req);
  if (Object.keys(fields).length > 0) return redactedFields(fields);
  const { 'content-type': type = 'no content type', 'content-length': length } = req.headers;
  return Number(length) > 0 ? redacted(`not read: ${length} bytes, ${type}`) : undefined;
}

/**
 * Records the requests that one sandbox gets, newest last, the oldest dropped beyond 1,000.
 *
 * @param onRequest is called with each request when its answer has ended.
 */
export function createRecord(
  clock: SandboxClock,
  onRequest: (request: SandboxRequest) => void = () => {},
) {
  /** Each gives a request as it is now: a client can see an answer before it has ended here. */
  const requests: (() => SandboxRequest)[] = [];

  /** Records every request as it comes in, except those of the console and of the API of the sandbox. */
  const recordRequest: RequestHandler = (req, res, next) => {
    // They show the record, and their fields carry secrets.
    if (/^\/sandbox\/(console|api)(\/|$)/i.test(req.path)) return next();
    const [at, startedAt] = [clock.now(), performance.now()];
    const path = req.path.split('/').map(redactedPart).join('/');
    const part = interfaceOf(req.path);
    let endedAt: number | undefined;
    const now = (): SandboxRequest => ({
      at,
      method: req.method,
      path,
      interface: part,
      status: res.headersSent ? res.statusCode : 0,
      msg: res.locals.msg,
      params: redactedFields({ ...queryParameters(req), ...bodyParameters(req) }),
      body: redactedBody(req),
      answer: redactedAnswer(res.locals.answer),
      isOpen: endedAt === undefined,
      durationMs: Math.round(((endedAt ?? performance.now()) - startedAt) * 10) / 10,
    });
    requests.push(now);
    if (requests.length > MAX_RECORDS) requests.shift();
    res.once('close', () => {
      endedAt = performance.now();
      onRequest(now());
    });
    next();
  };

  return {
    recordRequest,
    clear: () => requests.splice(0),
    list: () => requests.map((now) => now()),
  };
}
