import { describe, expect, it } from 'vitest';
import type { SandboxDialect } from '../../../src/sandbox/index.js';
import { expectDocumented } from '../openapi/support.js';
import {
  exchange,
  infoOf,
  type Json,
  newAuthKey,
  newToken,
  speaking,
  userInfo,
} from './support.js';

const MINUTE = 60_000;
const PICTURE = expect.anything();

describe('the login API', () => {
  it.each<[SandboxDialect['errors'], number, number, RegExp]>([
    ['http', 400, 401, /^Bad Request, invalid (\w+)$/],
    ['localised', 200, 200, /^Hatalı istek, geçersiz (\w+)$/],
  ])('errors %j: HTTP %i, %i for a token, %s', async (errors, status, ofToken, message) => {
    const running = await speaking({ errors });
    expectDocumented(running);
    const answers = {
      app_id: await exchange(running, 'x', { app_id: 'x' }),
      app_secret: await exchange(running, 'x', { app_secret: 'x' }),
      auth_key: await exchange(running, 'x'),
      access_token: await userInfo(running, 'x'),
    };
    for (const [name, answer] of Object.entries(answers)) {
      expect(answer.status).toBe(name === 'access_token' ? ofToken : status);
      expect(answer.body).toEqual({ error: true, message: expect.stringMatching(message) });
      expect(message.exec(String(answer.body.message))?.[1]).toBe(name);
    }
  });

  it.each<[SandboxDialect['errors'], number, string]>([
    [403, 403, '{"detail":{"reason":"invalid auth_key"}}'],
    [422, 422, '{"detail":{"reason":"invalid auth_key"}}'],
    ['empty', 400, ''],
  ])('errors %j: HTTP %i with %s', async (errors, status, text) => {
    const answer = await (async (running) => exchange(running, 'x'))(await speaking({ errors }));
    expect([answer.status, answer.text]).toEqual([status, text]);
  });

  it('oneLiveAuthKey: a new auth_key ends the one before it, of the same app and user', async () => {
    const running = await speaking({ oneLiveAuthKey: true });
    const [first, other, second] = ['3001', '3002', '3001'].map((id) => newAuthKey(running, id));
    expect((await exchange(running, String(first))).body).not.toHaveProperty('access_token');
    for (const key of [other, second]) {
      expect((await exchange(running, String(key))).body).toHaveProperty('access_token');
    }
  });

  it("authorizeMethod 'get': the exchange is a GET with a query, a form is not read", async () => {
    const running = await speaking({ authorizeMethod: 'get' });
    const authKey = newAuthKey(running);
    expect((await exchange(running, authKey)).body.message).toBe('Bad Request, invalid app_id');
    const query = { app_id: running.appId, app_secret: running.appSecret, auth_key: authKey };
    const { body } = await running.get(`/api/authorize?${new URLSearchParams(query)}`);
    expect(body).toHaveProperty('access_token');
  });

  it('tokenMinutes 1: tokens live one minute', async () => {
    const running = await speaking({ tokenMinutes: 1 });
    const token = await newToken(running);
    running.sandbox.clock.advance(MINUTE - 1);
    expect((await userInfo(running, token)).body).toHaveProperty('user_info');
    running.sandbox.clock.advance(1);
    expect((await userInfo(running, token)).body.message).toContain('expired access_token');
  });

  it('tokenReuse: the same token while it lives, not extended; replaced, it reads invalid', async () => {
    const running = await speaking({ tokenReuse: true });
    const message = async () => (await userInfo(running, first)).body.message;
    const first = await newToken(running);
    running.sandbox.clock.advance(40 * MINUTE);
    expect(await newToken(running)).toBe(first);
    expect(await newToken(running, '3002')).not.toBe(first);
    running.sandbox.clock.advance(20 * MINUTE);
    expect(await message()).toContain('expired access_token');
    expect(await newToken(running)).not.toBe(first);
    expect(await message()).toContain('invalid access_token');
  });

  it.each<[Partial<SandboxDialect>, Json]>([
    [{ datetimes: true }, { user_registered: '2019-04-02 09:14:55' }],
    [
      { relativePictures: true },
      { user_picture: 'media/users/3001/picture.svg', user_cover: 'media/users/3001/cover.svg' },
    ],
    [{ extraFields: true }, { profile_picture: PICTURE, profile_cover: PICTURE }],
  ])('%j: %j, the other fields as documented', async (dialect, expected) => {
    const documented = await infoOf(await speaking({}));
    const found = await infoOf(await speaking(dialect));
    expect(found).toMatchObject(expected);
    expect(Object.keys(found)).toEqual(expect.arrayContaining(Object.keys(documented)));
    expect(found.user_name).toBe('mira.solheim');
  });

  it('nulls: every field but user_id, user_name, user_email', async () => {
    const found = await infoOf(await speaking({ nulls: true }));
    const { user_id, user_name, user_email, ...others } = found;
    expect([user_id, user_name]).toEqual(['3001', 'mira.solheim']);
    expect(user_email).toBe('mira@solheim.example');
    expect(Object.values(others)).toEqual(Array(11).fill(null));
  });

  it('vanishedUser: [] with HTTP 200', async () => {
    const running = await speaking({ vanishedUser: true });
    const { status, text } = await userInfo(running, await newToken(running));
    expect([status, text]).toEqual([200, '[]']);
  });

  it('htmlOutage: a page with HTTP 200 from both, the auth_key unspent', async () => {
    const running = await speaking({});
    const authKey = newAuthKey(running);
    running.sandbox.dialect.htmlOutage = true;
    const answers = [await exchange(running, authKey), await userInfo(running, 'x')];
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      expect(text).toMatch(/^<!doctype html>/);
    }
    running.sandbox.dialect.htmlOutage = false;
    expect((await exchange(running, authKey)).body).toHaveProperty('access_token');
  });

  it.each([
    [true, '<br />'],
    ['text', '<br />'],
    ['bom', '\uFEFF'],
  ] as const)(
    'warnings %s: text or a BOM ahead of the JSON, as text/html',
    async (warnings, ahead) => {
      const { headers, text } = await userInfo(await speaking({ warnings }), 'x');
      expect(headers.get('content-type')).toContain('text/html');
      expect(text.startsWith(ahead)).toBe(true);
      expect(JSON.parse(text.slice(text.indexOf('{')))).toHaveProperty('error', true);
    },
  );
});
