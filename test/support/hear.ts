import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, expect, type Mock, onTestFinished, vi } from 'vitest';

/** The messages of a diagnostics channel, until the test is over. */
export function hear<M = unknown>(name: 'request' | 'lookup' | 'drift' | 'guard' | 'login'): M[] {
  const messages: M[] = [];
  const listen = (message: unknown): void => void messages.push(message as M);
  subscribe(`marketgate:${name}`, listen);
  onTestFinished(() => void unsubscribe(`marketgate:${name}`, listen));
  return messages;
}

/** A listener for promises that reject without a handler. */
export function unhandledRejections() {
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  return unhandled;
}

/** In each test of the file, no promise may reject without a handler; `console.error` is a spy. */
export function allowNoUnhandledRejection(): void {
  let unhandled: Mock;
  beforeEach(() => {
    unhandled = unhandledRejections();
    vi.spyOn(console, 'error').mockImplementation(() => {});
  });
  afterEach(async () => {
    await new Promise(setImmediate);
    expect(unhandled).not.toHaveBeenCalled();
  });
}
