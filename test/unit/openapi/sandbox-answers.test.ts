import { createSandbox, type Sandbox, type SandboxListening } from 'marketgate/sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Browser } from '../../support/browser.js';
import { complaintsAbout } from './support.js';

let sandbox: Sandbox;
let service: SandboxListening;

beforeAll(async () => {
  sandbox = createSandbox({ redirectUrl: 'http://127.0.0.1:9/callback' });
  service = await sandbox.listen();
});
afterAll(() => sandbox.close());

interface Asked {
  path: string;
  query?: Record<string, string>;
  form?: Record<string, string>;
}

/** Asks the sandbox, and what the document has against its answer. */
async function ask({ path, query = {}, form }: Asked) {
  const url = `${service.baseUrl}${path}?${new URLSearchParams(query)}`;
  const init = form && { method: 'POST', body: new URLSearchParams(form) };
  const answer = await fetch(url, { redirect: 'manual', ...init });
  const type = answer.headers.get('content-type') ?? '';
  const body: unknown = type.includes('json') ? await answer.json() : await answer.text();
  const method = form ? 'post' : 'get';
  return {
    status: answer.status,
    body,
    complaints: complaintsAbout(method, path, answer.status, type, body),
  };
}

const key = () => ({ api_key: service.apiKey });
const VALIDATION = '/api/purchases/validation';

async function authKey(): Promise<string> {
  const start = `${service.authUrl}/api/oauth?app_id=${service.appId}`;
  const callback = await new Browser().logInUpToCallback(start, '3001');
  return new URL(callback).searchParams.get('auth_key') ?? '';
}

const exchange = async (form: Record<string, string> = {}) => {
  const { appId: app_id, appSecret: app_secret } = service;
  const auth_key = form.auth_key ?? (await authKey());
  return ask({ path: '/api/authorize', form: { app_id, app_secret, auth_key, ...form } });
};

describe('what the sandbox answers is as documented', () => {
  it('the account, the list, and every item of every kind', async () => {
    const account = await ask({ path: '/api/account/details', query: key() });
    expect(account).toMatchObject({ status: 200, complaints: [] });
    const list = await ask({ path: '/api/items/all', query: key() });
    expect(list).toMatchObject({ status: 200, complaints: [] });
    const { items } = list.body as { items: { id: number }[] };
    expect(items.length).toBeGreaterThan(10);
    for (const { id } of items) {
      const query = { ...key(), item_id: String(id) };
      expect(await ask({ path: '/api/items/item', query })).toMatchObject({
        status: 200,
        complaints: [],
      });
    }
  });

  it('every seeded code, valid or not', async () => {
    const statuses = new Set<number>();
    for (const { code: purchase_code } of sandbox.codes) {
      const answer = await ask({ path: VALIDATION, form: { ...key(), purchase_code } });
      expect(answer.complaints).toEqual([]);
      statuses.add(answer.status);
    }
    expect([...statuses].sort()).toEqual([200, 404]);
  });

  it.each([
    ['/api/account/details', { api_key: 'wrong' }, 401, 'Invalid request'],
    ['/api/account/details', {}, 400, undefined],
    ['/api/items/all', { api_key: 'wrong' }, 404, 'No items found'],
    ['/api/items/all', {}, 400, undefined],
    ['/api/items/item', { api_key: 'wrong', item_id: '1042' }, 404, 'Item Not Found'],
    ['/api/items/item', { api_key: 'wrong', item_id: 'x' }, 400, undefined],
  ])('the error of %s for %j', async (path, query, status, msg) => {
    const answer = await ask({ path, query });
    expect(answer).toMatchObject({ status, complaints: [] });
    if (msg !== undefined) expect(answer.body).toEqual({ status: 'error', msg });
  });

  it('the errors of validation', async () => {
    const wrong = await ask({
      path: VALIDATION,
      form: { ...key(), purchase_code: 'x'.repeat(20) },
    });
    expect(wrong).toMatchObject({ status: 404, complaints: [] });
    expect(wrong.body).toEqual({ status: 'error', msg: 'Invalid purchase code' });
    expect(await ask({ path: VALIDATION, form: {} })).toMatchObject({
      status: 400,
      complaints: [],
    });
  });

  it('the login page, the exchange, and the profile of every user', async () => {
    const page = await ask({ path: '/api/oauth', query: { app_id: service.appId } });
    expect(page).toMatchObject({ status: 200, complaints: [] });
    const nobody = await ask({ path: '/api/oauth', query: { app_id: 'nobody' } });
    expect(nobody).toMatchObject({ status: 404, complaints: [] });
    const start = `${service.authUrl}/api/oauth?app_id=${service.appId}`;
    for (const { user_id } of sandbox.data.users) {
      const callback = await new Browser().logInUpToCallback(start, user_id);
      const auth_key = new URL(callback).searchParams.get('auth_key') ?? '';
      const token = await exchange({ auth_key });
      expect(token).toMatchObject({ status: 200, complaints: [] });
      const user = await ask({
        path: '/api/get_user_info',
        query: token.body as Record<string, string>,
      });
      expect(user).toMatchObject({ status: 200, complaints: [] });
      expect(user.body).toMatchObject({ user_info: { user_id } });
    }
  });

  it('the errors of interface B, with HTTP 200 and with others', async () => {
    for (const errors of ['ok', 'http'] as const) {
      sandbox.dialect.errors = errors;
      for (const wrong of ['app_id', 'app_secret', 'auth_key']) {
        const answer = await exchange({ [wrong]: 'x' });
        expect(answer.complaints).toEqual([]);
        expect(answer.body).toMatchObject({ error: true });
      }
      const query = { access_token: 'x' };
      const user = await ask({ path: '/api/get_user_info', query });
      expect(user.complaints).toEqual([]);
    }
  });
});

describe('the check itself', () => {
  const item = { id: 1, name: 'a', media: { thumbnail: 'https://a.example/' } };
  const check = (body: unknown) =>
    complaintsAbout('get', '/api/items/item', 200, 'application/json', body);

  it.each([
    ['a price as a string', { status: 'success', item: { ...item, price: { regular: '24.00' } } }],
    ['null for absent', { status: 'success', item: { ...item, version: null } }],
    ['an id that is none', { status: 'success', item: { ...item, id: 1.5 } }],
    ['another status', { status: 'erfolgreich', item }],
    ['no payload', { status: 'success' }],
    ['an error without msg', { status: 'error' }],
  ])('finds %s', (_what, body) => expect(check(body)).not.toEqual([]));

  it('lets unknown fields be, and finds what is not documented at all', () => {
    expect(check({ status: 'success', item: { ...item, new: true }, more: 1 })).toEqual([]);
    expect(complaintsAbout('post', '/api/items/item', 200, '', {})).toHaveLength(1);
    expect(complaintsAbout('get', '/api/items/item', 500, '', {})).toHaveLength(1);
    expect(complaintsAbout('get', '/api/items/item', 200, 'text/html', '')).toHaveLength(1);
  });
});
