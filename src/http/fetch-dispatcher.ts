/** As much of an undici `Dispatcher` as is used; those of undici 6, 7 and 8 fit. */
export interface DispatcherLike {
  /** Sends one request; the answer goes to the handler. */
  dispatch(options: object, handler: object): boolean;
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What a dispatcher of undici 6 calls, as far as it is needed here. */
interface Handler {
  onConnect(abort: (reason: Error) => void): void;
  onHeaders(status: number, headers: readonly string[]): unknown;
  onData(chunk: Buffer): unknown;
  onComplete(): void;
  onError(error: unknown): void;
}

interface Options {
  readonly origin: string;
  readonly path: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string | null;
}

/** Where `fetch` followed a redirect, or will not show one. */
const REDIRECT = 302;

/** `fetch` as a dispatcher: deadline, size cap and redirects are then the same for both. */
export const fetchDispatcher = (fetch: Fetch): DispatcherLike => ({
  dispatch(options, handler) {
    void send(fetch, options as Options, handler as Handler);
    return true;
  },
});

async function send(
  fetch: Fetch,
  { origin, path, method, headers, body }: Options,
  handler: Handler,
): Promise<void> {
  const controller = new AbortController();
  const { signal } = controller;
  handler.onConnect((reason) => controller.abort(reason));
  try {
    const response = await fetch(`${origin}${path}`, {
      ...{ method, headers, body, signal },
      redirect: 'manual',
    });
    const isRedirect = response.redirected || response.type === 'opaqueredirect';
    // Without its content-encoding: the body is decoded already.
    const shown = ['retry-after', 'content-length'].flatMap((name) => {
      const value = response.headers.get(name);
      return value === null ? [] : [name, value];
    });
    handler.onHeaders(isRedirect ? REDIRECT : response.status, shown);
    for await (const chunk of response.body ?? []) {
      if (signal.aborted) break;
      handler.onData(Buffer.from(chunk));
    }
    handler.onComplete();
  } catch (error) {
    handler.onError(error);
  }
}
