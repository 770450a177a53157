import { LoginApi, type LoginApiOptions, type MarketgateError } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { rejection } from '../../support/errors.js';
import { type Answerer, json, page } from '../../support/upstream.js';
import { userInfo } from '../../support/wire.js';
import { AUTH_KEY, HOUR, SECRET, serving, TOKEN } from './support.js';

// What an operator reads in the log: which call it was, what happened, and what to do about it.

async function exchanging(
  answer: Answerer,
  options: Partial<LoginApiOptions> = {},
): Promise<MarketgateError> {
  const { loginApi } = await serving(answer, options);
  return rejection(loginApi.exchange(AUTH_KEY));
}

async function asking(answer: Answerer): Promise<MarketgateError> {
  const { loginApi } = await serving(answer);
  return rejection(loginApi.getUser(TOKEN));
}

describe('a complaint about an option', () => {
  const good = { authUrl: 'https://market.example', appId: 'a', appSecret: 's' };
  it.each<[string, object]>([
    ['authUrl', { ...good, authUrl: 'nowhere' }],
    ['appId', { ...good, appId: '' }],
    ['appSecret', { ...good, appSecret: '' }],
    ['timeout', { ...good, timeout: 0 }],
    ['tokenLifetime', { ...good, tokenLifetime: 0 }],
    ['authorizeMethod', { ...good, authorizeMethod: 'put' }],
    ['appKey', { ...good, appKey: 'x' }],
  ])('says that it is LoginApi’s, and that it is %s', (name, options) => {
    expect(() => new LoginApi(options as LoginApiOptions)).toThrow(
      new RegExp(`^LoginApi: .*"${name}"`),
    );
  });

  it('says in which unit a time is wanted', () => {
    expect(() => new LoginApi({ ...good, tokenLifetime: -1 })).toThrow('milliseconds');
  });
});

describe('an error of exchange', () => {
  it.each(['post', 'get'] as const)(
    'names the call as it was made: %s',
    async (authorizeMethod) => {
      const call = `${authorizeMethod.toUpperCase()} /api/authorize`;
      const broken = await exchanging((_request, res) => page(res), { authorizeMethod });
      expect(broken.message).toContain(call);
      const refused = await exchanging((_request, res) => json(res, { error: true }), {
        authorizeMethod,
      });
      expect(refused.message).toContain(call);
    },
  );

  it('names the call as the specification has it when nothing was configured', async () => {
    const error = await exchanging((_request, res) => page(res));
    expect(error.message).toContain('POST /api/authorize');
  });

  it('names both credentials of the app when the service refuses one', async () => {
    const error = await exchanging((_request, res) => json(res, { error: 'wrong app_id' }));
    expect(error.message).toContain('"appId"');
    expect(error.message).toContain('"appSecret"');
    expect(error.message).toContain('"wrong app_id"');
  });

  it('tells to log in again when there is no token', async () => {
    const error = await exchanging((_request, res) => json(res, { error: true, message: 'Sorry' }));
    expect(error.message).toContain('auth_key: "Sorry"');
    expect(error.message).toContain('log in again');
  });

  it.each<[string, object]>([
    ['no reason', { error: true }],
    ['an empty one', { error: true, message: '' }],
    ['one that is no text', { error: 7, message: { en: 'Sorry' } }],
  ])('quotes nothing when the service gives %s', async (_name, body) => {
    const error = await exchanging((_request, res) => json(res, body));
    expect(error.message).toMatch(/for this auth_key; /);
  });

  it('says what is no auth_key, without repeating it', async () => {
    const { loginApi } = await serving((_request, res) => json(res, {}));
    const error = await rejection(loginApi.exchange(' '));
    expect(error.message).toContain('auth_key must be a non-empty string');
  });

  it.each([
    ['the app_secret', 'open sesame'],
    ['the auth_key', 'tulip'],
  ])('does not repeat %s, also when it is an ordinary word', async (_name, secret) => {
    const { loginApi } = await serving(
      (_request, res) => json(res, { error: true, message: `What is ${secret}?` }),
      { appSecret: 'open sesame' },
    );
    const error = await rejection(loginApi.exchange('tulip'));
    expect(error.message).toContain('What is [redacted]?');
    expect(error.message).not.toContain(secret);
  });
});

describe('an error of getUser', () => {
  it.each<[string, Answerer, string]>([
    ['a page', (_request, res) => page(res), 'HTML'],
    ['a user who is gone', (_request, res) => json(res, []), 'deleted'],
    ['a refusal', (_request, res) => json(res, { message: 'No' }, 401), '"No"'],
    ['half a user', (_request, res) => json(res, { user_info: { user_name: 'x' } }), 'documented'],
  ])('names the call, and what came: %s', async (_name, answer, found) => {
    const { message } = await asking(answer);
    expect(message).toContain('GET /api/get_user_info');
    expect(message).toContain(found);
  });

  it('names the field of the user that is not as documented', async () => {
    const { message } = await asking((_request, res) =>
      json(res, { user_info: { ...userInfo, user_id: '' } }),
    );
    expect(message).toContain('user_info.user_id');
  });

  it('does not repeat the access_token, also when it is an ordinary word', async () => {
    const { loginApi } = await serving((_request, res) =>
      json(res, { error: true, message: 'What is tulip?' }),
    );
    const { message } = await rejection(loginApi.getUser('tulip'));
    expect(message).toContain('What is [redacted]?');
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['a blank', ' '],
    ['a number', 7],
    ['a token without a value', { issuedAt: 0, expiresAt: HOUR }],
    ['a token with an empty value', { value: '', issuedAt: 0, expiresAt: HOUR }],
    ['a token with a value that is no text', { value: 7, issuedAt: 0, expiresAt: HOUR }],
    ['a token without its start', { value: TOKEN, expiresAt: HOUR }],
    ['a token without its end', { value: TOKEN, issuedAt: 0 }],
    ['a token whose end is no time', { value: TOKEN, issuedAt: 0, expiresAt: '2030-01-01' }],
  ])('says that %s is no token, and makes no call', async (_name, token) => {
    const { loginApi, upstream } = await serving((_request, res) =>
      json(res, { user_info: userInfo }),
    );
    await expect(loginApi.getUser(token as string)).rejects.toThrow(
      /^LoginApi: token must be an AccessToken/,
    );
    expect(upstream.requests).toHaveLength(0);
  });

  it('says how long a token lives when its time is over', async () => {
    const { loginApi } = await serving((_request, res) => json(res, {}), {
      clock: () => HOUR,
      tokenLifetime: 120_000,
    });
    const token = { value: TOKEN, issuedAt: 0, expiresAt: 120_000 };
    expect((await rejection(loginApi.getUser(token))).message).toContain('2 minutes');
  });
});

it('the app_secret is in no message', async () => {
  const error = await exchanging((request, res) =>
    json(res, { error: true, message: `${request.body} ${SECRET}` }),
  );
  expect(error.message).not.toContain(SECRET);
});
