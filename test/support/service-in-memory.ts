import { channel } from 'node:diagnostics_channel';
import type { FetchLike } from 'marketgate';

export interface WireAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly bytes: Buffer;
}

/** What the service does with a request. An `Error` is a network failure; a promise can stay pending. */
export type Reply = WireAnswer | Error | Promise<WireAnswer | Error>;

/** Answers one request; `n` counts the requests from 0. */
export type Answerer = (request: ServiceRequest, n: number) => Reply;

export const text = (body: string | Buffer, status = 200, headers = {}): WireAnswer => ({
  status,
  headers,
  bytes: Buffer.from(body as string),
});
export const json = (value: unknown, status = 200, headers = {}): WireAnswer =>
  text(JSON.stringify(value), status, { 'content-type': 'application/json', ...headers });
export const page = (status = 200, headers = {}): WireAnswer =>
  text('<!DOCTYPE html><html><body>Maintenance</body></html>', status, headers);
export const reset = (): Error => Object.assign(new Error('cut'), { code: 'ECONNRESET' });

type Init = Parameters<FetchLike>[1];

function requestOf(url: string, { method, headers, body: sent }: Init) {
  const { pathname: path, searchParams: query } = new URL(url);
  const body = sent ?? '';
  return {
    ...{ method, path, query, body, headers },
    /** Whether the client took it back. */
    isAborted: false,
    /** A parameter, wherever it was sent. */
    parameter: (name: string): string | null =>
      query.get(name) ??
      new URLSearchParams(body.startsWith('{') ? JSON.parse(body) : body).get(name),
  };
}

export type ServiceRequest = ReturnType<typeof requestOf>;

// As undici itself reports requests: the sweep for secrets listens there.
const created = channel('undici:request:create');

/** The service without a network, as a `fetch`. Answers arrive within microtasks, so no test has to wait for them. */
export class ServiceInMemory {
  readonly requests: ServiceRequest[] = [];

  /** @param options - isSwept: whether the sweep for secrets hears of the requests, as it does of undici's own. */
  constructor(
    private readonly answer: Answerer,
    private readonly options: { isSwept?: boolean } = {},
  ) {}

  /** How many requests there were, to one path or in all. */
  count(path?: string): number {
    return this.requests.filter((request) => path === undefined || request.path === path).length;
  }

  readonly fetch: FetchLike = async (url, init) => {
    const request = requestOf(url, init);
    if (this.options.isSwept !== false && created.hasSubscribers) {
      const path = url.replace(/^https?:\/\/[^/]+/, '');
      created.publish({ request: { path, body: Buffer.from(request.body) } });
    }
    const { signal } = init;
    let onAbort = (): void => {};
    const aborted = new Promise<never>((_resolve, reject) => {
      onAbort = () => {
        request.isAborted = true;
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort);
    });
    const reply = this.answer(request, this.requests.push(request) - 1);
    const answer = await Promise.race([reply, aborted]);
    signal.removeEventListener('abort', onAbort);
    if (answer instanceof Error) throw answer;
    const { status, headers, bytes } = answer;
    const get = (name: string): string | null => [headers[name] ?? []].flat().join(', ') || null;
    return { status, type: 'basic', redirected: false, url, headers: { get }, body: [bytes] };
  };
}
