import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { sent } from '../../../src/web/response.js';

it.each([
  ['was sent whole, when it has ended', { closed: false, writableFinished: true }, true],
  ['was not, when the browser disconnects', { closed: false, writableFinished: false }, false],
])('a response %s', async (_what, state, expected) => {
  const res = Object.assign(new EventEmitter(), state);
  const isSent = sent(res as never);
  res.emit('close');
  expect(await isSent).toBe(expected);
});

it('a response whose browser has disconnected before is not sent, and nothing waits for it', async () => {
  // What ends after that looks as if it had been sent.
  const res = Object.assign(new EventEmitter(), { closed: true, writableFinished: true });
  expect(await sent(res as never)).toBe(false);
});
