import { MarketgateError } from 'marketgate';
import { expect, it } from 'vitest';
import { hear } from '../../support/hear.js';
import { logIn, type OpenLogin, openLogin } from '../../support/strategy-harness.js';

const failing = (code: 'auth_key_rejected' | 'service_unavailable'): OpenLogin => ({
  api: { exchange: () => Promise.reject(new MarketgateError(code, 'why')) },
});
const verifying = (verify: () => unknown): OpenLogin => ({ verify: (_input: unknown) => verify() });

it.each<[string, OpenLogin, object]>([
  ['a success', {}, { outcome: 'success' }],
  [
    'a refusal of the service',
    failing('auth_key_rejected'),
    { outcome: 'fail', code: 'auth_key_rejected', reason: 'why' },
  ],
  [
    'a service that is down',
    failing('service_unavailable'),
    { outcome: 'error', code: 'service_unavailable', reason: expect.stringMatching(/^why /) },
  ],
  [
    'verify that refuses',
    verifying(() => false),
    { outcome: 'fail', code: 'login_failed', reason: expect.stringContaining('verify gave no') },
  ],
  [
    'verify that gives nothing',
    verifying(() => undefined),
    { outcome: 'error', reason: expect.stringContaining('verify gave undefined') },
  ],
  [
    'an error of the app, which is not published, nor is its code',
    verifying(() => Promise.reject(Object.assign(new Error('x'), { code: 'login_failed' }))),
    { outcome: 'error' },
  ],
])('marketgate:login reports the start, and %s', async (_name, options, message) => {
  const messages = hear('login');
  await logIn(options);
  expect(messages).toStrictEqual([{ outcome: 'redirect' }, message]);
});

it.each([
  ['refuses', new Error('full'), { outcome: 'error' }],
  ['keeps', undefined, { outcome: 'success' }],
])('marketgate:login reports a login that the session %s', async (_name, error, message) => {
  const messages = hear('login');
  await logIn({}, 'k1', { logIn: (_user: object, done: (error?: Error) => void) => done(error) });
  expect(messages).toStrictEqual([{ outcome: 'redirect' }, message]);
});

it('marketgate:login reports a callback that passes, and a page that asks', async () => {
  const messages = hear('login');
  const { comeBack, upToThePage, visit } = openLogin({ confirm: true });
  await comeBack('k0', { user: { id: '77' } });
  await visit({ confirm: await upToThePage() });
  const outcomes = ['pass', 'redirect', 'redirect', 'ask'];
  expect(messages).toStrictEqual(outcomes.map((outcome) => ({ outcome })));
});
