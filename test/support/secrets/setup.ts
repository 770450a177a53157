import { afterAll, afterEach, expect } from 'vitest';
import { isAllowed } from './watch/allowed.js';
import { listenToChannels } from './watch/exits.js';
import { sweep } from './watch/sweep.js';
import './watch/http.js';

// Runs ahead of every test file: whatever a test makes the package do, no secret may get out.
// The files of a worker share one process: what is imported above watches its exits from the first one on.
sweep.begin();

const file = expect.getState().testPath ?? '';
// These are also about what is not done while nobody listens.
const isUnheard = /[\\/]test[\\/]unit[\\/]diagnostics\b/.test(file);
const stopListening = isUnheard ? () => {} : listenToChannels();

function look(): void {
  const found = sweep.findings().filter((finding) => !isAllowed(finding, file));
  const lines = found.slice(0, 5).map(({ exit, secret, kinds, text }) => {
    const at = Math.max(0, text.toLowerCase().indexOf(secret.toLowerCase()) - 150);
    return `${[...kinds].join(', ')} "${secret}" in ${exit}: ${text.slice(at, at + 300)}`;
  });
  expect(found.length, `secrets got out\n${lines.join('\n')}`).toBe(0);
}

afterEach(look);
// What was left over: hooks, and requests that were answered after their test.
afterAll(() => {
  stopListening();
  look();
});
