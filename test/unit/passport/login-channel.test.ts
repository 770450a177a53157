import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { MarketgateError, MarketplaceStrategy, type MarketplaceStrategyOptions } from 'marketgate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cookieBrowser, drive, fakeLoginApi } from '../../support/strategy-harness.js';

type Verify = () => Promise<Express.User | false>;

/** Everything that the strategy says until the test is over, and a browser to make it speak. */
function open(
  overrides: Parameters<typeof fakeLoginApi>[0] = {},
  verify: Verify = async () => ({ id: '77' }),
  options: Partial<MarketplaceStrategyOptions> = {},
) {
  const heard: unknown[] = [];
  const listener = (message: unknown): void => void heard.push(message);
  subscribe('marketgate:login', listener);
  onTestFinished(() => void unsubscribe('marketgate:login', listener));
  const { loginApi } = fakeLoginApi(overrides);
  const strategy = new MarketplaceStrategy({ loginApi, ...options }, verify);
  const session = {};
  const browser = cookieBrowser();
  const go = (query: object = {}, more: object = {}) =>
    drive(strategy, browser.request(query, { session, ...more }).req);
  return { heard, go };
}

const failing = (error: unknown) => ({ exchange: () => Promise.reject(error) });

describe('marketgate:login', () => {
  it('tells of the start and of the success, and of no code then', async () => {
    const { heard, go } = open();
    await go();
    await go({ auth_key: 'k' });
    expect(heard).toStrictEqual([{ outcome: 'redirect' }, { outcome: 'success' }]);
  });

  it.each<[string, Parameters<typeof open>, object]>([
    [
      'a refusal of the service',
      [failing(new MarketgateError('auth_key_rejected', 'x'))],
      { outcome: 'fail', code: 'auth_key_rejected' },
    ],
    [
      'a service that is down',
      [failing(new MarketgateError('service_unavailable', 'x'))],
      { outcome: 'error', code: 'service_unavailable' },
    ],
    ['verify that refuses', [{}, async () => false], { outcome: 'fail' }],
    [
      'an error of the app’s own, whose code can be anything',
      [{}, async () => Promise.reject(Object.assign(new Error('x'), { code: 'secret-code' }))],
      { outcome: 'error' },
    ],
    [
      'an error whose code is no text',
      [{}, async () => Promise.reject(Object.assign(new Error('x'), { code: 7 }))],
      { outcome: 'error' },
    ],
    [
      'an error whose code only looks like one of ours',
      [{}, async () => Promise.reject(Object.assign(new Error('x'), { code: ['login_failed'] }))],
      { outcome: 'error' },
    ],
    [
      'an error whose code is what every object has',
      [{}, async () => Promise.reject(Object.assign(new Error('x'), { code: 'toString' }))],
      { outcome: 'error' },
    ],
    ['a rejection with nothing', [{}, async () => Promise.reject(undefined)], { outcome: 'error' }],
  ])('tells of %s', async (_name, parts, message) => {
    const { heard, go } = open(...parts);
    await go();
    await go({ auth_key: 'k' });
    expect(heard).toMatchObject([{ outcome: 'redirect' }, message]);
  });

  it('tells of a callback that passes, and of a page that asks', async () => {
    const { heard, go } = open({}, undefined, { confirm: true, clock: () => 0 });
    await go({ auth_key: 'k' }, { user: { id: '77' } });
    await go();
    const [asked] = await go({ auth_key: 'k' });
    await go({
      confirm: new URL(String(asked?.[1]), 'http://app.test').searchParams.get('confirm'),
    });
    expect(heard).toStrictEqual([
      { outcome: 'pass' },
      { outcome: 'redirect' },
      { outcome: 'redirect' },
      { outcome: 'ask' },
    ]);
  });
});
