import { subscribe } from 'node:diagnostics_channel';
import { collectFrom } from './http.js';
import type { Sweep } from './sweep.js';

/**
 * Every request that a client of this process sends, also to a server of another process: undici tells
 * of each, the package's clients and Node's own fetch alike.
 */
export function watchRequests(sweep: Sweep): void {
  subscribe('undici:request:create', (message) => {
    const { request } = message as { request: { path?: unknown; body?: unknown } };
    if (typeof request.path === 'string') collectFrom(request.path, sweep);
    if (Buffer.isBuffer(request.body)) collectFrom(request.body.toString(), sweep);
  });
}
