import { EventEmitter } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { ErrorWatch, isGarbled } from '../../../src/stores/keyv/error-watch.js';
import { emittersOf, type KeyvLike } from '../../../src/stores/keyv/keyv-like.js';

const garbled = new SyntaxError('Unexpected token');

/** A call that is under way until it is ended. */
function call(): { run: () => Promise<string>; end: () => void } {
  let end = (): void => {};
  const ended = new Promise<string>((resolve) => {
    end = () => resolve('given');
  });
  return { run: () => ended, end };
}

describe('what is heard while a call is under way', () => {
  it('is nothing when nothing is said', async () => {
    const watch = new ErrorWatch(() => []);
    expect(await watch.during(async () => 'given')).toStrictEqual({
      result: 'given',
      failed: false,
      error: undefined,
      garbled: false,
    });
  });

  it('is the first failure, and that a row was garbled', async () => {
    const keyv = new EventEmitter();
    const watch = new ErrorWatch(() => [keyv]);
    const { run, end } = call();
    const watched = watch.during(run);
    const first = new Error('first');
    for (const error of [garbled, first, new Error('second')]) keyv.emit('error', error);
    end();
    expect(await watched).toEqual({ result: 'given', failed: true, error: first, garbled: true });
  });

  it('is still heard for one call when another has ended', async () => {
    const keyv = new EventEmitter();
    const watch = new ErrorWatch(() => [keyv]);
    const { run, end } = call();
    const slow = watch.during(run);
    await watch.during(async () => 'quick');
    expect(keyv.listenerCount('error')).toBe(1);
    keyv.emit('error', new Error('down'));
    end();
    expect(await slow).toMatchObject({ failed: true });
    expect(keyv.listenerCount('error')).toBe(0);
  });

  it('is left alone when the call fails, and nobody listens any more', async () => {
    const keyv = new EventEmitter();
    const watch = new ErrorWatch(() => [keyv]);
    await expect(watch.during(() => Promise.reject(new Error('down')))).rejects.toThrow('down');
    expect(keyv.listenerCount('error')).toBe(0);
  });
});

it.each<[unknown, boolean]>([
  [garbled, true],
  // As under jest, whose modules have a SyntaxError of their own.
  [{ name: 'SyntaxError' }, true],
  [new Error('down'), false],
  [undefined, false],
  [null, false],
  ['SyntaxError', false],
])('%o is of a garbled row: %s', (error, is) => {
  expect(isGarbled(error)).toBe(is);
});

describe('who is listened to', () => {
  const methods = { get: vi.fn(), set: vi.fn(), delete: vi.fn() };
  const emitter = () => ({ on: vi.fn(), off: vi.fn() });

  it('are the Keyv and its adapter', () => {
    const store = emitter();
    const keyv = { ...methods, ...emitter(), store } as KeyvLike;
    expect(emittersOf(keyv)).toEqual([keyv, store]);
  });

  it('is the adapter alone where the Keyv throws what nobody listens to', () => {
    const store = emitter();
    const throwing = { ...methods, ...emitter(), store, throwOnEmptyListeners: true };
    expect(emittersOf({ ...throwing, listeners: () => [] } as KeyvLike)).toEqual([store]);
    const heard = { ...throwing, listeners: () => [vi.fn()] } as KeyvLike;
    expect(emittersOf(heard)).toEqual([heard, store]);
    const silent = throwing as KeyvLike;
    expect(emittersOf(silent)).toEqual([silent, store]);
  });

  it.each<[string, unknown]>([
    ['is missing', undefined],
    ['is null', null],
    ['is a Map', new Map()],
    ['could not be left again', { on: vi.fn() }],
    ['cannot be listened to', { off: vi.fn() }],
  ])('is no adapter that %s', (_what, store) => {
    expect(emittersOf({ ...methods, store } as KeyvLike)).toEqual([]);
  });
});
