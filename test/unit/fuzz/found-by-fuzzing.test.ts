import { LoginApi } from 'marketgate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { profileOf } from '../../../src/passport/verify.js';
import { expectError, rejection } from '../../support/errors.js';
import { ITEM, KeyApiService } from '../../support/key-api-service.js';
import { json, ServiceInMemory, text, type WireAnswer } from '../../support/service-in-memory.js';
import { CODE, userInfo } from '../../support/wire.js';

const APP_SECRET = 'app/secret of+many~kinds&of characters';

function keyApiOf(answer: WireAnswer, options: object = {}) {
  const service = new KeyApiService({ override: () => answer });
  return { keyApi: service.client(options), service };
}

function loginApiOf(answer: WireAnswer) {
  const loginApi = new LoginApi({
    authUrl: 'https://market.example',
    appId: 'app-7',
    appSecret: APP_SECRET,
    retries: 0,
    dispatcher: new ServiceInMemory(() => answer),
  });
  onTestFinished(() => loginApi.close());
  return loginApi;
}

describe('a 429 or 5xx whose body cannot be read', () => {
  it.each<[string, number, object, string]>([
    ['compressed', 429, { 'content-encoding': 'gzip' }, 'x'],
    ['compressed', 503, { 'content-encoding': 'br' }, 'x'],
    ['too large', 429, {}, 'x'.repeat(5000)],
    ['too large', 503, {}, 'x'.repeat(5000)],
  ])('%s, HTTP %d: an outage, and its Retry-After holds', async (_why, status, headers, body) => {
    const { keyApi, service } = keyApiOf(text(body, status, { 'retry-after': '40', ...headers }), {
      maxResponseBytes: 1000,
    });
    const error = await rejection(keyApi.validatePurchase(CODE));
    expect(error).toMatchObject({ code: 'service_unavailable', retryAfter: 40 });
    expect((await rejection(keyApi.getItem(7))).retryAfter).toBeGreaterThan(0);
    expect(service.asked(ITEM)).toBe(0);
  });

  it('is still refused when the status does not explain it', async () => {
    const { keyApi } = keyApiOf(text('x', 200, { 'content-encoding': 'gzip' }));
    await expectError(keyApi.getItem(7), 'unexpected_response');
  });
});

describe('a user with a field nested deeper than the stack', () => {
  const depth = 20_000;
  const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const sent = JSON.stringify({ user_info: userInfo });

  it.each([
    ['of no known name', sent.replace('"user_name"', `"trace":${nested},"user_name"`), userInfo],
    [
      'of a known name, which is left out',
      sent.replace('"Likes harbours."', nested),
      { ...userInfo, user_biography: undefined },
    ],
  ])('%s has a profile', async (_name, body, expected) => {
    const user = await loginApiOf(text(body)).getUser('some-token');
    const profile = profileOf(user, 'https://market.example');
    expect(profile).toMatchObject({ id: userInfo.user_id, username: userInfo.user_name });
    expect(JSON.parse(profile._raw)).toEqual(JSON.parse(JSON.stringify(expected)));
  });
});

it('a secret that the service repeats is not shown in part where a long sentence is cut in its middle', async () => {
  const loginApi = loginApiOf(json({ error: true, message: `${'a1'.repeat(2040)} ${APP_SECRET}` }));
  const { message } = await rejection(loginApi.exchange('some-auth-key'));
  expect(message).not.toContain(APP_SECRET.slice(0, 8));
});
