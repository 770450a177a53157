import { Socket } from 'node:net';
import type { Sweep } from './sweep.js';

const LONGEST = 256 * 1024;

/**
 * Everything that a client of this process tells a Redis, word by word. It is read off the sockets, so
 * that no client library and no way to connect is overlooked: what begins with an array of RESP
 * (`*3\r\n$3\r\nSET…`) is one.
 */
export function watchRedis(sweep: Sweep): void {
  const kinds = new WeakMap<Socket, boolean>();
  const { write } = Socket.prototype;
  Socket.prototype.write = function (this: Socket, chunk: unknown, ...rest: unknown[]): boolean {
    let isRedis = kinds.get(this);
    if (isRedis === undefined) {
      isRedis = startsAsRedis(chunk);
      kinds.set(this, isRedis);
    }
    if (isRedis && (typeof chunk === 'string' || chunk instanceof Uint8Array)) {
      const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
      for (const word of text.slice(0, LONGEST).split('\r\n')) {
        if (word.length > 8) sweep.out(`redis ${word}`, () => ({ exit: 'redis', text: word }));
      }
    }
    return Reflect.apply(write, this, [chunk, ...rest]);
  } as typeof write;
}

function startsAsRedis(chunk: unknown): boolean {
  if (typeof chunk === 'string') return /^\*\d+\r\n/.test(chunk);
  return chunk instanceof Uint8Array && chunk[0] === 0x2a && chunk.includes(0x24);
}
