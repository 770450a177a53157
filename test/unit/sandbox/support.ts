import { once } from 'node:events';
import { request } from 'node:http';
import { afterEach, it as base } from 'vitest';
import {
  createSandbox,
  type Sandbox,
  type SandboxDialect,
  type SandboxOptions,
} from '../../../src/sandbox/index.js';
import { Browser as CommonBrowser } from '../../support/browser.js';

export const CALLBACK = 'http://localhost:3999/callback';

export type Json = Record<string, unknown>;

/** A JSON answer with what the tests look at. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Json;
}

export type Running = Awaited<ReturnType<typeof start>>;

/** A test that takes a sandbox which listens: `async ({ running }) => …`. */
export const it = base.extend<{ running: Running }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest wants the fixtures that this one needs.
  running: async ({}, use) => use(await start()),
});

const open: Sandbox[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.close()));
});

async function read(response: Response): Promise<Answer> {
  // Response.text() would drop a byte order mark.
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(await response.arrayBuffer());
  let body: Json = {};
  try {
    body = JSON.parse(text) as Json;
  } catch {
    // Not JSON: the test looks at `text` then.
  }
  return { status: response.status, headers: response.headers, text, body };
}

/** A sandbox that listens until the test ends. */
export async function start(options: SandboxOptions = {}, create = createSandbox) {
  const sandbox = create({ redirectUrl: CALLBACK, ...options });
  open.push(sandbox);
  const listening = await sandbox.listen();
  const { baseUrl, apiKey } = listening;
  /** Called with every answer; the path has its query. */
  const watch: { onAnswer?: (method: string, path: string, answer: Answer) => void } = {};
  /** Sends a request; follows no redirect. */
  const send = async (path: string, init?: RequestInit): Promise<Answer> => {
    const answer = await read(await fetch(baseUrl + path, { redirect: 'manual', ...init }));
    watch.onAnswer?.(init?.method ?? 'GET', path, answer);
    return answer;
  };
  const post = (path: string, form: Record<string, string>) =>
    send(path, { method: 'POST', body: new URLSearchParams(form) });
  return {
    ...{ ...listening, sandbox, watch, send, post },
    /** Sends a body as JSON with POST; a text is sent as it is. */
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
    code(kind: string): string {
      const found = sandbox.codes.find((code) => code.kind === kind);
      if (!found) throw new Error(`no code of kind ${kind}`);
      return found.code;
    },
  };
}

/** Asks with exactly these headers: fetch would not send a Host or Sec-Fetch-Site of ours. */
export async function ask(
  url: string,
  headers: Record<string, string>,
  form?: Record<string, string>,
) {
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  const asked = request(url, { method: form ? 'POST' : 'GET', headers: { ...type, ...headers } });
  asked.end(form && new URLSearchParams(form).toString());
  const [response] = await once(asked, 'response');
  const text = (await response.toArray()).join('');
  return { status: response.statusCode, headers: response.headers, text };
}

/** A browser as curl is one: redirects are followed by hand. */
export class Browser {
  readonly #browser = new CommonBrowser();

  constructor(readonly origin: string) {}

  async visit(path: string, init: RequestInit = {}) {
    const response = await this.#browser.request(new URL(path, this.origin).href, init);
    return { ...(await read(response)), location: response.headers.get('location') ?? '' };
  }

  submit(path: string, fields: Record<string, string>) {
    return this.visit(path, { method: 'POST', body: new URLSearchParams(fields) });
  }

  /** Goes from the app's login link to the app's callback, and gives the URL of the callback. */
  async logIn(appId: string, userId = '3001'): Promise<string> {
    const first = await this.visit(`/api/oauth?app_id=${appId}`);
    if (first.location) return first.location;
    const attempt = attemptOn(first.text);
    if (first.text.includes('action="/sandbox/login"')) {
      await this.submit('/sandbox/login', { attempt, user_id: userId });
    }
    return (await this.submit('/sandbox/consent', { attempt, decision: 'accept' })).location;
  }
}

/** The hidden token of the form on a page. */
export const attemptOn = (page: string): string =>
  /name="attempt" value="([0-9a-f]+)"/.exec(page)?.[1] ?? '';

/** The auth_key of a callback URL. */
export const authKeyOf = (callback: string): string => callback.split('?auth_key=')[1] ?? '';

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

/** Logs a user in and gives the access_token. */
export async function newToken(running: Running, userId = '3001'): Promise<string> {
  const { body } = await exchange(running, newAuthKey(running, userId));
  return String(body.access_token);
}

export const userInfo = (running: Running, token: string) =>
  running.get(`/api/get_user_info?access_token=${token}`);

/** Takes the auth_key of a callback URL, and gives what the service tells of its user. */
export async function infoBehind(running: Running, callback: string): Promise<Json> {
  const { body } = await exchange(running, authKeyOf(callback));
  return (await userInfo(running, String(body.access_token))).body.user_info as Json;
}

/** Logs a user in, and gives what the service tells of them. */
export const infoOf = (running: Running, userId = '3001'): Promise<Json> =>
  infoBehind(running, running.sandbox.acceptLogin(userId));

/** A clock that stands still: only `advance` moves it. */
export const NOW = Date.UTC(2027, 0, 1);

/** A sandbox with some switches, by that clock. */
export const speaking = (dialect: Partial<SandboxDialect>) => start({ dialect, clock: () => NOW });

/** Looks a value up by a dotted path. */
export const at = (value: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (inner, name) =>
        typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined,
      value,
    );
