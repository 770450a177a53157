import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { inspect } from 'node:util';
import { MarketgateError } from '../../../../src/errors.js';
import { everythingOf } from '../support/everything-of.js';
import { LONGEST, sweep } from './sweep.js';

// Every exit of this process but HTTP is watched from the import of this file on.

// Every error of the package's own making, whether or not anybody ever sees it.
function note(error: Error): void {
  const cause = error.cause instanceof Error ? error.cause.message : '';
  sweep.out('error', `${error.message} ${cause}`, () => everythingOf(error));
}

// `super(…)` asks for the constructor's prototype when it runs, so one can be put in between.
class WatchedError extends Error {
  constructor(message?: string, options?: ErrorOptions) {
    super(message, options);
    note(this);
  }
}
Object.setPrototypeOf(MarketgateError, WatchedError);

// The package throws it for a wrong option.
function construct(target: typeof TypeError, args: unknown[], newTarget: object): TypeError {
  const error: TypeError = Reflect.construct(target, args, newTarget as typeof TypeError);
  Error.captureStackTrace(error, construct);
  note(error);
  return error;
}
globalThis.TypeError = new Proxy(globalThis.TypeError, { construct });

/** Everything that is given to a method goes by here first. */
function listenTo<T extends object>(object: T, method: keyof T & string, hear: Hear): void {
  const own = object[method] as (...args: unknown[]) => unknown;
  object[method] = function (this: unknown, ...args: unknown[]) {
    hear(args, this as object);
    return Reflect.apply(own, this, args);
  } as T[typeof method];
}
type Hear = (args: readonly unknown[], on: object) => void;

const textOf = (chunk: unknown): string =>
  chunk instanceof Uint8Array ? Buffer.from(chunk).toString() : String(chunk);

function print(text: string): void {
  sweep.out('output', text, () => text);
}
for (const method of ['log', 'info', 'warn', 'error', 'debug', 'trace', 'dir', 'table'] as const) {
  listenTo(console, method, (args) =>
    print(args.map((arg) => (typeof arg === 'string' ? arg : inspect(arg))).join(' ')),
  );
}
for (const stream of [process.stdout, process.stderr]) {
  listenTo(stream, 'write', ([chunk]) => print(textOf(chunk)));
}
process.on('warning', (warning) => print(everythingOf(warning)));

// Every word that a client tells a Redis, whichever client: a socket whose first bytes are an array of RESP.
const isRedis = new WeakMap<object, boolean>();
listenTo(Socket.prototype, 'write', ([chunk], socket) => {
  const text = isRedis.get(socket) === false ? '' : textOf(chunk).slice(0, LONGEST);
  if (!isRedis.has(socket)) isRedis.set(socket, /^\*\d+\r\n\$/.test(text));
  if (!isRedis.get(socket)) return;
  for (const word of text.split('\r\n')) {
    if (word.length > 8) sweep.out('redis', word, () => word);
  }
});

/** Everything that is published: that somebody listens makes it be told. Returns how to stop. */
export function listenToChannels(): () => void {
  const listen = (message: unknown, name: string | symbol): void => {
    // Its duration makes every message another.
    const key = JSON.stringify(message, (field, value) =>
      field === 'durationMs' ? undefined : value,
    );
    sweep.out('diagnostics', `${String(name)} ${key}`, () =>
      inspect(message, { showHidden: true, depth: Number.POSITIVE_INFINITY }),
    );
  };
  const names = ['request', 'lookup', 'guard', 'login', 'drift'].map(
    (each) => `marketgate:${each}`,
  );
  for (const name of names) subscribe(name, listen);
  return () => {
    for (const name of names) unsubscribe(name, listen);
  };
}
