import type { Response } from 'express';

const CHUNK = Buffer.alloc(64 * 1024, ' ');
const SLOW_INTERVAL = 50;

/**
 * Sends `start` and then `count` blanks, no faster than they are read. Blanks after a JSON value are
 * legal JSON, so size is the only thing wrong; without a Content-Length it has to be counted.
 */
export function sendBlanks(res: Response, start: Buffer, count: number): void {
  let left = count;
  res.write(start);
  const more = () => {
    if (res.destroyed) return;
    if (left <= 0) {
      res.end();
      return;
    }
    const chunk = left < CHUNK.length ? CHUNK.subarray(0, left) : CHUNK;
    left -= chunk.length;
    // Through setImmediate, so that other requests get their turn.
    if (res.write(chunk)) setImmediate(more);
    else res.once('drain', () => setImmediate(more));
  };
  more();
}

/** Sends `start` and then blanks until the reader goes away or the sandbox closes. */
export function sendEndlessly(res: Response, start: Buffer, slow: boolean): void {
  if (!slow) {
    sendBlanks(res, start, Number.POSITIVE_INFINITY);
    return;
  }
  res.write(start);
  const timer = setInterval(() => res.write(' '), SLOW_INTERVAL);
  res.once('close', () => clearInterval(timer));
}
