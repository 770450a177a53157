import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request as the upstream saw it. */
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

export interface Upstream {
  readonly url: string;
  readonly requests: SeenRequest[];
  /** How often a path was asked for. */
  count(path: string): number;
  close(): Promise<void>;
}

async function bodyOf(req: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of req) body += chunk;
  return body;
}

/**
 * A service whose every answer the test writes, for what the sandbox would never say. Closed with the
 * test. `n` counts the requests from 0.
 */
export async function startUpstream(answer: Answerer): Promise<Upstream> {
  const requests: SeenRequest[] = [];
  const server = createServer((req, res) => {
    void bodyOf(req).then((body) => {
      const url = new URL(req.url ?? '/', 'http://upstream.invalid');
      const seen: SeenRequest = {
        method: req.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: req.headers,
        body,
        port: req.socket.remotePort,
      };
      requests.push(seen);
      answer(seen, res, requests.length - 1);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(close);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    count: (path) => requests.filter((request) => request.path === path).length,
    close,
  };
}

/** Answers with JSON. */
export function json(res: ServerResponse, value: unknown, status = 200, headers = {}): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers });
  res.end(JSON.stringify(value));
}

/** Answers with an HTML page. */
export function page(res: ServerResponse, status = 200, headers = {}): void {
  res.writeHead(status, { 'content-type': 'text/html', ...headers });
  res.end('<!DOCTYPE html><html><body>Maintenance</body></html>');
}
