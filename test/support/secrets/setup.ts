import { afterAll, afterEach, expect } from 'vitest';
import { isAllowed } from './watch/allowed.js';
import { watchErrors } from './watch/errors.js';
import { watchHttp, watchRequests } from './watch/http.js';
import { listenToChannels, watchOutputs } from './watch/outputs.js';
import { watchRedis } from './watch/redis.js';
import { type Finding, sweep } from './watch/sweep.js';

// Runs ahead of every test file: whatever a test makes the package do, no secret may get out.
// The files of a worker share one process, so the exits are watched once, and the sweep begins anew.
if (sweep.isFirstFile()) {
  watchErrors(sweep);
  watchOutputs(sweep);
  watchHttp(sweep);
  watchRequests(sweep);
  watchRedis(sweep);
}

const file = expect.getState().testPath ?? '';
// These are also about what is not done while nobody listens.
const isUnheard = /[\\/]test[\\/]unit[\\/]diagnostics\b/.test(file);
const stopListening = isUnheard ? undefined : listenToChannels(sweep);

function look(): void {
  const found = sweep.findings().filter((finding) => !isAllowed(finding, file));
  if (found.length > 0) throw new Error(report(found));
}

function report(found: readonly Finding[]): string {
  const lines = found.slice(0, 5).map(({ exit, secret, kinds, text, status }) => {
    const at = Math.max(0, text.toLowerCase().indexOf(secret.toLowerCase()) - 150);
    const where = status === undefined ? exit : `${exit} (HTTP ${status})`;
    return `${[...kinds].join(', ')} "${secret}" in ${where}: ${text.slice(at, at + 300)}`;
  });
  return [`${found.length} secrets got out`, ...lines].join('\n');
}

afterEach(look);
// What was left over: hooks, and requests that were answered after their test.
afterAll(() => {
  stopListening?.();
  look();
});
