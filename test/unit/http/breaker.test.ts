import { KeyApi, LoginApi } from 'marketgate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Breaker, type CallEnd } from '../../../src/http/breaker.js';
import { rejection } from '../../support/errors.js';
import { page, startUpstream } from '../../support/upstream.js';
import { KEY } from '../../support/wire.js';

describe('a breaker', () => {
  function open() {
    const self = { now: 0 };
    const breaker = new Breaker(() => self.now);
    /** One call that ends so; the seconds after which to try again, when it is refused. */
    const call = (end: CallEnd): number | undefined => {
      let isProbe: boolean;
      try {
        isProbe = breaker.enter('GET /x');
      } catch (error) {
        expect(error).toMatchObject({ code: 'service_unavailable' });
        return (error as { retryAfter: number }).retryAfter;
      }
      breaker.leave(isProbe, end);
      return undefined;
    };
    const fail = (times: number) => Array.from({ length: times }, () => call('failed'));
    return { self, breaker, call, fail };
  }

  it('opens after five failures in a row, and refuses at once', () => {
    const { breaker, fail } = open();
    expect(fail(7)).toEqual([undefined, undefined, undefined, undefined, undefined, 2, 2]);
    expect(breaker.isOpen).toBe(true);
    expect(() => breaker.enter('GET /x')).toThrow(
      'GET /x: not sent, because the service has failed 5 times in a row; it will be tried again in about 2 s',
    );
  });

  it('rests for longer each time, up to half a minute', () => {
    const { self, call, fail } = open();
    fail(5);
    const rests = Array.from({ length: 6 }, () => {
      const rest = call('failed') ?? 0;
      self.now += rest * 1000 - 1;
      expect(call('failed')).toBe(1);
      self.now += 1;
      expect(call('failed')).toBeUndefined();
      return rest;
    });
    expect(rests).toEqual([2, 4, 8, 16, 30, 30]);
  });

  it('lets one probe through after the rest; another when the caller of that one left', () => {
    const { self, breaker, call, fail } = open();
    fail(5);
    self.now += 2000;
    expect(breaker.enter('GET /x')).toBe(true);
    expect(call('answered')).toBe(1);
    breaker.leave(true, 'unknown');
    expect(breaker.enter('GET /x')).toBe(true);
    breaker.leave(true, 'answered');
    expect(breaker.isOpen).toBe(false);
    // The next outage begins with a short rest again.
    expect(fail(6).at(-1)).toBe(2);
  });

  it('stays closed where answers, or calls whose caller left, come between failures', () => {
    const { breaker, call, fail } = open();
    for (let i = 0; i < 3; i++) {
      fail(4);
      call('answered');
    }
    fail(4);
    call('unknown');
    expect(breaker.isOpen).toBe(false);
    fail(1);
    expect(breaker.isOpen).toBe(true);
  });
});

it('pages and refusals are answers: they come at once, and say what is wrong', async () => {
  const upstream = await startUpstream((_request, res) => page(res, 404));
  const keyApi = new KeyApi({ baseUrl: upstream.url, apiKey: KEY });
  onTestFinished(() => keyApi.close());
  for (let i = 0; i < 8; i++) {
    expect((await rejection(keyApi.getAccount())).code).toBe('unexpected_response');
  }
  expect(upstream.requests).toHaveLength(8);
});

it('the login has a breaker of its own, which a clock that is set back does not keep open', async () => {
  let now = 1_800_000_000_000;
  const upstream = await startUpstream((_request, res) => page(res, 500));
  const loginApi = new LoginApi({
    ...{ authUrl: upstream.url, appId: 'a', appSecret: 's', clock: () => now },
  });
  onTestFinished(() => loginApi.close());
  for (let i = 0; i < 5; i++) await rejection(loginApi.exchange(`k${i}`));
  expect(await rejection(loginApi.exchange('k9'))).toMatchObject({ retryAfter: 2 });
  expect(upstream.requests).toHaveLength(5);
  now -= 365 * 24 * 3_600_000;
  await rejection(loginApi.exchange('k10'));
  expect(upstream.requests).toHaveLength(6);
});
