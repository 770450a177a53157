import { subscribe } from 'node:diagnostics_channel';

/**
 * Tells of each request that is sent to the marketplace, by method and path, without the query: that
 * holds secrets. On the channel of undici, which the clients of marketgate send with.
 */
export function countUpstreamCalls(onCall: (what: string) => void): void {
  subscribe('undici:request:create', (message) => {
    const { method, path } = (message as { request: { method: string; path: string } }).request;
    onCall(`${method} ${path.split('?', 1)[0]}`);
  });
}
