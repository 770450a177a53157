import { describe, expect } from 'vitest';
import { authKeyOf, Browser, exchange, it, newAuthKey, start, userInfo } from './support.js';

describe('sandbox.requests', () => {
  it('tells what was asked, newest last', async () => {
    const running = await start({ clock: () => 1_800_000_000_000 });
    await running.get(`/api/items/item?api_key=${running.apiKey}&item_id=1042`);
    await running.get('/api/get_user_info?access_token=x');
    await running.get('/nothing');
    await running.get('/media/items/1042/thumbnail.svg');
    expect(running.sandbox.requests).toEqual([
      {
        at: 1_800_000_000_000,
        method: 'GET',
        path: '/api/items/item',
        interface: 'key-api',
        status: 200,
        params: { api_key: '[redacted]', item_id: '1042' },
        body: undefined,
        answer: { status: 'success', item: expect.objectContaining({ id: 1042 }) },
        isOpen: false,
        durationMs: expect.any(Number),
      },
      expect.objectContaining({ interface: 'login-api', params: { access_token: '[redacted]' } }),
      expect.objectContaining({ interface: 'page', path: '/nothing' }),
      expect.objectContaining({ interface: 'media' }),
    ]);
  });

  it('has what both sides sent: the last characters of a code, what a refusal said, and what body no endpoint reads', async ({
    running,
  }) => {
    await running.validate('x');
    await running.validate('00000000-0000-4000-8000-00000000abcd');
    await running.postJson('/api/purchases/validation', { purchase_code: 5, page: 2 });
    await running.validate(running.code('supported'));
    await exchange(running, newAuthKey(running));
    await running.postJson('/api/authorize', { auth_key: 'x' });
    const purchase_code = '[redacted] …8d10';
    expect(running.sandbox.requests).toMatchObject([
      { params: { api_key: '[redacted]', purchase_code: '[redacted]' } },
      { params: { purchase_code: '[redacted] …abcd' }, msg: 'Invalid purchase code' },
      { params: { purchase_code: '[redacted]', page: '2' } },
      {
        body: { api_key: '[redacted]', purchase_code },
        answer: { data: { purchase: { purchase_code, license_type: 'Regular' } } },
      },
      { answer: { access_token: '[redacted]' } },
      { body: 'not read: 16 bytes, application/json' },
    ]);
  });

  it('holds no secret, whatever place it was sent in, also as the JSON API exports it', async ({
    running,
  }) => {
    const code = running.code('supported');
    const authKey = authKeyOf(await new Browser(running.authUrl).logIn(running.appId));
    const token = String((await exchange(running, authKey)).body.access_token);
    await userInfo(running, token);
    await running.validate(code);
    await running.get(`/api/items/item?item_id=${code}&${running.apiKey}=1`);
    await running.get(`/verify/${code.replaceAll('-', '%2d')}/${running.apiKey}/%E0%A4%A`);
    const { text } = await running.get('/sandbox/api/requests');
    expect(running.sandbox.requests).toHaveLength(8);
    for (const secret of [code, authKey, token, running.apiKey, running.appSecret]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(secret.replaceAll('-', '%2d'));
    }
  });

  it('is a copy, and can be cleared', async ({ running: { sandbox, get } }) => {
    await get('/nothing');
    const copy = sandbox.requests;
    sandbox.clearRequests();
    expect([copy.length, sandbox.requests]).toEqual([1, []]);
  });
});
