import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { account, purchase, refusal, success } from '../../../support/wire.js';

/** Milliseconds that each answer takes. */
const LATENCY = 10;

/** The upstream service, which counts how often it is asked for each code. */
export class CountingService {
  readonly #server: Server;
  readonly #calls = new Map<string, number>();
  /** Codes that were valid once. */
  readonly refunded = new Set<string>();
  /** Whether it shows a page instead of answers, which opens no breaker. */
  isOut = false;
  private constructor() {
    this.#server = createServer((req, res) => {
      if (req.method === 'GET') return send(res, success({ data: account }));
      void text(req).then((body) => this.#validate(body, res));
    });
  }

  static async start(): Promise<CountingService> {
    const service = new CountingService();
    await new Promise<void>((resolve) => service.#server.listen(0, '127.0.0.1', resolve));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  calls(code: string): number {
    return this.#calls.get(code) ?? 0;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #validate(body: string, res: ServerResponse): void {
    const purchase_code = new URLSearchParams(body).get('purchase_code') ?? '';
    this.#calls.set(purchase_code, this.calls(purchase_code) + 1);
    if (this.isOut) {
      res.end('<!DOCTYPE html><title>Maintenance</title>');
      return;
    }
    const answer = this.refunded.has(purchase_code)
      ? refusal('Invalid purchase code')
      : success({ data: { purchase: { ...purchase, purchase_code } } });
    setTimeout(() => send(res, answer), LATENCY);
  }
}

function send(res: ServerResponse, answer: object): void {
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify(answer));
}
