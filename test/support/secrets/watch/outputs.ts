import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import { everythingOf } from '../support/everything-of.js';
import type { Sweep } from './sweep.js';

const METHODS = ['log', 'info', 'warn', 'error', 'debug', 'trace', 'dir', 'table'] as const;
const CHANNELS = ['request', 'lookup', 'guard', 'login', 'drift'];

/** Everything that is printed or warned of. */
export function watchOutputs(sweep: Sweep): void {
  for (const method of METHODS) {
    const print = console[method].bind(console) as (...args: unknown[]) => void;
    console[method] = (...args: unknown[]) => {
      const text = args.map((arg) => (typeof arg === 'string' ? arg : inspect(arg))).join(' ');
      sweep.out(`console ${text}`, () => ({ exit: 'console', text }));
      print(...args);
    };
  }

  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as typeof stream.write;
    stream.write = ((chunk: string | Uint8Array, ...rest: never[]) => {
      const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
      sweep.out(`output ${text}`, () => ({ exit: 'output', text }));
      return write(chunk, ...rest);
    }) as typeof stream.write;
  }

  process.on('warning', (warning) => {
    sweep.out(`warning ${warning.message}`, () => ({
      exit: 'warning',
      text: everythingOf(warning),
    }));
  });
}

/**
 * Everything that is published: that somebody listens makes it be told.
 *
 * @returns stops listening.
 */
export function listenToChannels(sweep: Sweep): () => void {
  const ends = CHANNELS.map((name) => {
    const listen = (message: unknown): void => {
      // Its duration makes every message another.
      const key = JSON.stringify(message, (field, value) =>
        field === 'durationMs' ? undefined : value,
      );
      sweep.out(`${name} ${key}`, () => ({
        exit: 'diagnostics',
        text: inspect(message, { showHidden: true, depth: Number.POSITIVE_INFINITY }),
      }));
    };
    subscribe(`marketgate:${name}`, listen);
    return () => unsubscribe(`marketgate:${name}`, listen);
  });
  return () => {
    for (const end of ends) end();
  };
}
