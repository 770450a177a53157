import { inspect } from 'node:util';
import { describe, expect, vi } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { createRecord } from '../../../src/sandbox/record.js';
import { arrive, authKeyOf, Browser, exchange, it, start, userInfo } from './support.js';

describe('sandbox.requests', () => {
  it('tells what was asked, newest last', async () => {
    const running = await start({ clock: () => 1_800_000_000_000 });
    await running.get(`/api/items/item?api_key=${running.apiKey}&item_id=1042`);
    await running.get('/api/get_user_info?access_token=x');
    await running.get('/');
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
      expect.objectContaining({ interface: 'page', path: '/' }),
      expect.objectContaining({ interface: 'media' }),
    ]);
  });

  it('an onRequest that throws is reported, and ends nothing', async () => {
    const report = vi.spyOn(console, 'error').mockImplementation(() => {});
    const failure = new Error('mine');
    const running = await start({
      onRequest: () => {
        throw failure;
      },
    });
    for (let i = 0; i < 2; i++) expect((await running.get('/')).status).toBe(200);
    await vi.waitFor(() => expect(report).toHaveBeenCalledTimes(2), { timeout: 40_000 });
    expect(report).toHaveBeenCalledWith(expect.any(String), failure);
  });

  it('names the parameters of form and JSON bodies', async ({ running }) => {
    await running.validate('x');
    await running.postJson('/api/purchases/validation', { purchase_code: 5, page: 2 });
    expect(running.sandbox.requests.map(({ params }) => params)).toEqual([
      { api_key: '[redacted]', purchase_code: '[redacted]' },
      { purchase_code: '[redacted]', page: '2' },
    ]);
  });

  it('says what a refusal said, and the last characters of a code', async ({ running }) => {
    await running.validate('00000000-0000-4000-8000-00000000abcd');
    const [request] = running.sandbox.requests;
    const params = { purchase_code: '[redacted] …abcd' };
    expect(request).toMatchObject({ msg: 'Invalid purchase code', params });
  });

  it('holds no secret, whatever place it was sent in', async ({ running }) => {
    const code = running.code('supported');
    const authKey = authKeyOf(await new Browser(running.authUrl).logIn(running.appId));
    const token = String((await exchange(running, authKey)).body.access_token);
    await userInfo(running, token);
    await running.validate(code);
    await running.get(`/api/items/item?item_id=${code}&${running.apiKey}=1`);
    await running.get(`/api/${code}/${running.apiKey}`);
    await running.get(`/verify/${code.replaceAll('-', '%2d')}/%E0%A4%A`);
    const recorded = inspect(running.sandbox.requests, { depth: 9, maxArrayLength: null });
    expect(running.sandbox.requests.length).toBeGreaterThan(7);
    for (const secret of [
      code,
      code.replaceAll('-', '%2d'),
      authKey,
      token,
      running.apiKey,
      running.appSecret,
    ]) {
      expect(recorded).not.toContain(secret);
    }
  });

  it('is a copy, keeps the last 1,000, and can be cleared', () => {
    const record = createRecord(createSandbox().clock, () => {});
    for (let n = 0; n < 1005; n++) arrive(record, '/api/items/all', `n=${n}`);
    const copy = record.list();
    expect(copy).toHaveLength(1000);
    expect(copy[0]?.params).toEqual({ n: '5' });
    record.clear();
    expect([copy.length, record.list().length]).toEqual([1000, 0]);
  });

  it('prints nothing while it works', async () => {
    const names = ['log', 'info', 'warn', 'error'] as const;
    const spies = names.map((name) => vi.spyOn(console, name));
    const out = vi.spyOn(process.stderr, 'write');
    const running = await start();
    await running.get('/preview/%E0%A4%A');
    await running.postJson('/api/purchases/validation', '{');
    for (const spy of [...spies, out]) expect(spy).not.toHaveBeenCalled();
  });
});
