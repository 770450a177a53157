import { MarketgateError } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { hear } from '../../support/hear.js';
import { logIn, type OpenLogin, openLogin } from '../../support/strategy-harness.js';

const failing = (error: unknown): OpenLogin => ({ api: { exchange: () => Promise.reject(error) } });
const rejecting = (error: unknown): OpenLogin => ({
  verify: (_input: unknown) => Promise.reject(error),
});

describe('marketgate:login', () => {
  it.each<[string, OpenLogin, object]>([
    ['a success', {}, { outcome: 'success' }],
    [
      'a refusal of the service',
      failing(new MarketgateError('auth_key_rejected', 'why')),
      { outcome: 'fail', code: 'auth_key_rejected', reason: 'why' },
    ],
    [
      'a service that is down',
      failing(new MarketgateError('service_unavailable', 'why')),
      {
        outcome: 'error',
        code: 'service_unavailable',
        reason: 'why (npx marketgate explain service_unavailable)',
      },
    ],
    [
      'verify that refuses',
      { verify: (_input: unknown) => false },
      { outcome: 'fail', code: 'login_failed', reason: expect.stringContaining('verify gave no') },
    ],
    [
      'verify that gives nothing',
      { verify: (_input: unknown) => undefined },
      { outcome: 'error', reason: expect.stringContaining('verify gave undefined') },
    ],
    ...['x', 'login_failed', 7, ['login_failed'], 'toString'].map(
      (code): [string, OpenLogin, object] => [
        `an error of the app’s own with the code ${JSON.stringify(code)}, which is not published`,
        rejecting(Object.assign(new Error('x'), { code })),
        { outcome: 'error' },
      ],
    ),
    [
      'an error whose message is no text',
      rejecting({ message: Object.create(null) }),
      { outcome: 'error' },
    ],
  ])('reports the start, and %s', async (_name, options, message) => {
    const messages = hear('login');
    await logIn(options);
    expect(messages).toStrictEqual([{ outcome: 'redirect' }, message]);
  });

  it.each([
    ['a login that the session refuses', new Error('full'), { outcome: 'error' }],
    ['a login that the session keeps', undefined, { outcome: 'success' }],
  ])('reports %s', async (_name, error, message) => {
    const messages = hear('login');
    await logIn({}, 'k1', {
      logIn: (_user: object, done: (error?: Error) => void) => done(error),
    });
    expect(messages).toStrictEqual([{ outcome: 'redirect' }, message]);
  });

  it('reports a callback that passes, and a page that asks', async () => {
    const messages = hear('login');
    const { comeBack, upToThePage, visit } = openLogin({ confirm: true, clock: () => 0 });
    await comeBack('k0', { user: { id: '77' } });
    await visit({ confirm: await upToThePage() });
    const outcomes = ['pass', 'redirect', 'redirect', 'ask'];
    expect(messages).toStrictEqual(outcomes.map((outcome) => ({ outcome })));
  });
});
