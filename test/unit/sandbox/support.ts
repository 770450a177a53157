import { request } from 'undici';
import { it as base, onTestFinished } from 'vitest';
import {
  createSandbox,
  type SandboxDialect,
  type SandboxOptions,
} from '../../../src/sandbox/index.js';
import { Browser as CommonBrowser } from '../../support/browser.js';

export const CALLBACK = 'http://localhost:3999/callback';

/** A JSON value, read by its names: `body.data?.purchase`. */
export interface Json {
  readonly [name: string]: Json;
}

export type Running = Awaited<ReturnType<typeof start>>;

/** A test that takes a sandbox which listens: `async ({ running }) => …`. */
export const it = base.extend<{ running: Running }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest wants the fixtures that this one needs.
  running: async ({}, use) => use(await start()),
});

/** An answer with what the tests look at. */
export type Answer = Awaited<ReturnType<typeof read>>;

async function read(response: Response) {
  const text = await response.text();
  let body = {} as Json;
  try {
    body = JSON.parse(text);
  } catch {
    // Not JSON: the test looks at `text` then.
  }
  return { status: response.status, headers: response.headers, text, body };
}

/** A sandbox that listens until the test ends. */
export async function start(options: SandboxOptions = {}, create = createSandbox) {
  const sandbox = create({ redirectUrl: CALLBACK, ...options });
  onTestFinished(() => sandbox.close());
  const listening = await sandbox.listen();
  const { baseUrl, apiKey } = listening;
  const send = async (path: string, init?: RequestInit): Promise<Answer> =>
    read(await fetch(baseUrl + path, { redirect: 'manual', ...init }));
  const post = (path: string, form: Record<string, string>) =>
    send(path, { method: 'POST', body: new URLSearchParams(form) });
  return {
    ...{ ...listening, sandbox, send, post },
    /** A text is sent as it is. */
    postJson: (path: string, body: unknown) =>
      send(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    get: (path: string, headers: Record<string, string> = {}) => send(path, { headers }),
    /** Sends a purchase code as a form, under the first workspace's key by default. */
    validate: (code: string, key = apiKey) =>
      post('/api/purchases/validation', { api_key: key, purchase_code: code }),
    /** The code of the first purchase of a kind. */
    code: (kind: string) => sandbox.codes.find((code) => code.kind === kind)?.code ?? '',
  };
}

/** Asks with exactly these headers: fetch would not send a Host or Sec-Fetch-Site of ours. */
export async function ask(
  url: string,
  headers: Record<string, string>,
  form?: Record<string, string>,
) {
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  const { statusCode, body, ...answer } = await request(url, {
    method: form ? 'POST' : 'GET',
    headers: { ...type, ...headers },
    body: form && new URLSearchParams(form).toString(),
  });
  return { status: statusCode, headers: answer.headers, text: await body.text() };
}

/** A browser on the pages of a sandbox. It follows no redirect by itself. */
export class Browser {
  readonly #browser = new CommonBrowser();

  constructor(readonly origin: string) {}

  /** Opens a page, or sends a form. */
  async visit(path: string, form?: Record<string, string>) {
    const init = form ? { method: 'POST', body: new URLSearchParams(form) } : {};
    const response = await this.#browser.request(this.origin + path, init);
    return { ...(await read(response)), location: response.headers.get('location') ?? '' };
  }

  /** Goes from the app's login link to the app's callback, and gives the URL of the callback. */
  logIn(appId: string, userId = '3001'): Promise<string> {
    return this.#browser.logInUpToCallback(`${this.origin}/api/oauth?app_id=${appId}`, userId);
  }
}

/** The auth_key of a callback URL. */
const authKeyOf = (callback: string): string => callback.split('?auth_key=')[1] ?? '';

/** Accepts a login in a user's name and gives the auth_key. */
export const newAuthKey = ({ sandbox }: Running, userId = '3001'): string =>
  authKeyOf(sandbox.acceptLogin(userId));

/** Exchanges an auth_key with the first app's credentials, or others. */
export const exchange = (running: Running, authKey: string, fields: Record<string, string> = {}) =>
  running.post('/api/authorize', {
    app_id: running.appId,
    app_secret: running.appSecret,
    auth_key: authKey,
    ...fields,
  });

/** Takes the auth_key of a callback URL, or a new one, and gives the access_token. */
export async function newToken(running: Running, callback = running.sandbox.acceptLogin('3001')) {
  return String((await exchange(running, authKeyOf(callback))).body.access_token);
}

export const userInfo = (running: Running, token: string) =>
  running.get(`/api/get_user_info?access_token=${token}`);

/** What the service tells of the user of a callback URL. */
export async function infoBehind(running: Running, callback?: string) {
  return (await userInfo(running, await newToken(running, callback))).body.user_info;
}

/** A clock that stands still: only `advance` moves it. */
export const NOW = Date.UTC(2027, 0, 1);

/** A sandbox with some switches, by that clock. */
export const speaking = (dialect: Partial<SandboxDialect>) => start({ dialect, clock: () => NOW });
