import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from './listen.js';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Tells connections apart, to see them reused. */
  readonly port: number | undefined;
}

export type Answerer = (request: SeenRequest, res: ServerResponse, n: number) => unknown;

/**
 * A service whose every answer the test writes, for what the sandbox would never say. Closed with the
 * test. `n` counts the requests from 0.
 */
export async function startUpstream(answer: Answerer) {
  const requests: SeenRequest[] = [];
  const url = await listen((req, res) => {
    void text(req).then((body) => {
      const { pathname, searchParams } = new URL(req.url ?? '/', 'http://upstream.invalid');
      const seen: SeenRequest = {
        method: req.method ?? '',
        path: pathname,
        query: searchParams,
        headers: req.headers,
        body,
        port: req.socket.remotePort,
      };
      requests.push(seen);
      answer(seen, res, requests.length - 1);
    });
  });
  return {
    url,
    requests,
    count: (path: string): number => requests.filter((request) => request.path === path).length,
  };
}

export function json(res: ServerResponse, value: unknown, status = 200, headers = {}): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers });
  res.end(JSON.stringify(value));
}
