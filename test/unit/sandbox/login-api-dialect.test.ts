import { describe, expect, it } from 'vitest';
import type { SandboxDialect } from '../../../src/sandbox/index.js';
import {
  exchange,
  type Json,
  newAuthKey,
  newToken,
  type Running,
  start,
  userInfo,
} from './support.js';

const MINUTE = 60_000;
const NOW = Date.UTC(2027, 0, 1);

const speaking = (dialect: Partial<SandboxDialect>) => start({ dialect, clock: () => NOW });

describe('interface B', () => {
  const info = async (running: Running, userId?: string) =>
    (await userInfo(running, await newToken(running, userId))).body.user_info as Json;

  it("errors 'http': the same body with 400, or 401 for a token", async () => {
    const running = await speaking({ errors: 'http' });
    const answers = [
      await exchange(running, 'x', { app_id: 'x' }),
      await exchange(running, 'x', { app_secret: 'x' }),
      await exchange(running, 'x'),
      await userInfo(running, 'x'),
    ];
    expect(answers.map(({ status, body }) => [status, body.message])).toEqual([
      [400, 'Bad Request, invalid app_id'],
      [400, 'Bad Request, invalid app_secret'],
      [400, 'Bad Request, invalid auth_key'],
      [401, 'Bad Request, invalid access_token'],
    ]);
  });

  it("errors 'localised': a translated sentence with HTTP 200", async () => {
    const running = await speaking({ errors: 'localised' });
    const { status, body } = await exchange(running, 'x');
    expect([status, body]).toEqual([
      200,
      { error: true, message: 'Hatalı istek, geçersiz auth_key' },
    ]);
  });

  it("authorizeMethod 'get': the exchange is a GET with a query, a form is not read", async () => {
    const running = await speaking({ authorizeMethod: 'get' });
    const authKey = await newAuthKey(running);
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

  it('tokenReuse: the same token while it lives, its life not extended', async () => {
    const running = await speaking({ tokenReuse: true });
    const first = await newToken(running);
    running.sandbox.clock.advance(40 * MINUTE);
    expect(await newToken(running)).toBe(first);
    expect(await newToken(running, '3002')).not.toBe(first);
    running.sandbox.clock.advance(20 * MINUTE);
    expect((await userInfo(running, first)).body.message).toContain('expired access_token');
  });

  it('tokenReuse: a lapsed token that was replaced reads invalid, not expired', async () => {
    const running = await speaking({ tokenReuse: true });
    const first = await newToken(running);
    running.sandbox.clock.advance(60 * MINUTE);
    expect(await newToken(running)).not.toBe(first);
    expect((await userInfo(running, first)).body.message).toContain('invalid access_token');
  });

  it.each<[Partial<SandboxDialect>, Json]>([
    [{ datetimes: true }, { user_registered: '2019-04-02 09:14:55' }],
    [
      { relativePictures: true },
      { user_picture: 'media/users/3001/picture.svg', user_cover: 'media/users/3001/cover.svg' },
    ],
    [
      { extraFields: true },
      { profile_picture: expect.anything(), profile_cover: expect.anything() },
    ],
  ])('%j: %j, the other fields as documented', async (dialect, expected) => {
    const documented = await info(await speaking({}));
    const found = await info(await speaking(dialect));
    expect(found).toMatchObject(expected);
    expect(Object.keys(found)).toEqual(expect.arrayContaining(Object.keys(documented)));
    expect(found.user_name).toBe('mira.solheim');
  });

  it('nulls: every field but user_id, user_name, user_email', async () => {
    const found = await info(await speaking({ nulls: true }));
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
    const authKey = await newAuthKey(running);
    running.sandbox.dialect.htmlOutage = true;
    for (const { status, text } of [
      await exchange(running, authKey),
      await userInfo(running, 'x'),
    ]) {
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
    'warnings %s: text or a byte order mark ahead of the JSON, as text/html',
    async (warnings, ahead) => {
      const running = await speaking({ warnings });
      const response = await fetch(`${running.authUrl}/api/get_user_info?access_token=x`);
      // TextDecoder would drop the byte order mark that is to be seen.
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(
        await response.arrayBuffer(),
      );
      expect(response.headers.get('content-type')).toContain('text/html');
      expect(text.startsWith(ahead)).toBe(true);
      expect(JSON.parse(text.slice(text.indexOf('{')))).toHaveProperty('error', true);
    },
  );
});
