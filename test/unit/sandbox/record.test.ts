import { expect } from 'vitest';
import { Browser, it, NOW, newToken, start, userInfo } from './support.js';

it('sandbox.requests tells what was asked and answered, newest last, and can be cleared', async () => {
  const running = await start({ clock: () => NOW });
  const { sandbox, get, postJson, validate } = running;
  await get(`/api/items/item?api_key=${running.apiKey}&item_id=1042`);
  await get('/nothing');
  await get('/media/items/1042/thumbnail.svg');
  await validate('x');
  await validate('00000000-0000-4000-8000-00000000abcd');
  await postJson('/api/purchases/validation', { purchase_code: 5, page: 2 });
  await validate(running.code('supported'));
  await newToken(running);
  await postJson('/api/authorize', { auth_key: 'x' });
  const { requests } = sandbox;
  const purchase_code = '[redacted] …8d10';
  expect(requests[0]).toEqual({
    at: NOW,
    method: 'GET',
    path: '/api/items/item',
    interface: 'key-api',
    status: 200,
    params: { api_key: '[redacted]', item_id: '1042' },
    body: undefined,
    answer: { status: 'success', item: expect.objectContaining({ id: 1042 }) },
    isOpen: false,
    durationMs: expect.any(Number),
  });
  expect(requests.slice(1)).toMatchObject([
    { interface: 'page', path: '/nothing' },
    { interface: 'media' },
    { params: { api_key: '[redacted]', purchase_code: '[redacted]' } },
    { params: { purchase_code: '[redacted] …abcd' }, msg: 'Invalid purchase code' },
    { params: { purchase_code: '[redacted]', page: '2' } },
    {
      body: { api_key: '[redacted]', purchase_code },
      answer: { data: { purchase: { purchase_code, license_type: 'Regular' } } },
    },
    { interface: 'login-api', answer: { access_token: '[redacted]' } },
    { body: 'not read: 16 bytes, application/json' },
  ]);
  sandbox.clearRequests();
  expect([requests.length, sandbox.requests]).toEqual([9, []]);
});

it('sandbox.requests holds no secret, whatever place it was sent in, also as the JSON API exports it', async ({
  running,
}) => {
  const code = running.code('supported');
  const callback = await new Browser(running.authUrl).logIn(running.appId);
  const token = await newToken(running, callback);
  await userInfo(running, token);
  await running.validate(code);
  await running.get(`/api/items/item?item_id=${code}&${running.apiKey}=1`);
  await running.get(`/verify/${code.replaceAll('-', '%2d')}/${running.apiKey}/%E0%A4%A`);
  const { text } = await running.get('/sandbox/api/requests');
  expect(running.sandbox.requests.length).toBeGreaterThan(7);
  for (const secret of [code, callback.slice(-32), token, running.apiKey, running.appSecret]) {
    expect(text).not.toContain(secret);
    expect(text).not.toContain(secret.replaceAll('-', '%2d'));
  }
});
