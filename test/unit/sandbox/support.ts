import { EventEmitter } from 'node:events';
import type express from 'express';
import { afterEach, it as base } from 'vitest';
import {
  createSandbox,
  type Sandbox,
  type SandboxListening,
  type SandboxOptions,
} from '../../../src/sandbox/index.js';
import type { RequestRecord } from '../../../src/sandbox/record.js';

export const CALLBACK = 'http://localhost:3999/callback';

export type Json = Record<string, unknown>;

/** A JSON answer with what the tests look at. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Json;
}

export interface Running extends SandboxListening {
  readonly sandbox: Sandbox;
  /** Called with every answer; the path has its query. */
  onAnswer?: (method: string, path: string, answer: Answer) => void;
  /** Sends a request; follows no redirect. */
  send(path: string, init?: RequestInit): Promise<Answer>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, form: Record<string, string>): Promise<Answer>;
  /** Sends a body as JSON with POST; a text is sent as it is. */
  postJson(path: string, body: unknown): Promise<Answer>;
  /** Sends a purchase code as a form, under the first workspace's key by default. */
  validate(code: string, apiKey?: string): Promise<Answer>;
  /** The code of the first purchase of a kind. */
  code(kind: string): string;
}

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
  const bytes = await response.arrayBuffer();
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  let body: Json = {};
  try {
    body = JSON.parse(text) as Json;
  } catch {
    // Not JSON: the test looks at `text` then.
  }
  return { status: response.status, headers: response.headers, text, body };
}

/** A sandbox that listens until the test ends. */
export async function start(
  options: SandboxOptions = {},
  create = createSandbox,
): Promise<Running> {
  const sandbox = create({ redirectUrl: CALLBACK, ...options });
  open.push(sandbox);
  const listening = await sandbox.listen();
  const { baseUrl, apiKey } = listening;
  const send = async (path: string, init?: RequestInit) => {
    const answer = await read(await fetch(baseUrl + path, { redirect: 'manual', ...init }));
    running.onAnswer?.(init?.method ?? 'GET', path, answer);
    return answer;
  };
  const post = (path: string, form: Record<string, string>) =>
    send(path, { method: 'POST', body: new URLSearchParams(form) });
  const running: Running = {
    ...listening,
    sandbox,
    send,
    post,
    postJson: (path, body) =>
      send(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    get: (path, headers = {}) => send(path, { headers }),
    validate: (code, key = apiKey) =>
      post('/api/purchases/validation', { api_key: key, purchase_code: code }),
    code(kind) {
      const found = sandbox.codes.find((code) => code.kind === kind);
      if (!found) throw new Error(`no code of kind ${kind}`);
      return found.code;
    },
  };
  return running;
}

/** Notes a request in a record as the app does, without a connection. */
export function arrive(record: RequestRecord, path: string, query = ''): void {
  const req = { method: 'GET', path, originalUrl: `${path}?${query}` };
  const res = Object.assign(new EventEmitter(), { headersSent: true, statusCode: 200 });
  record.arrivals(req as express.Request, res as unknown as express.Response, () => {});
}

/** A browser as curl is one: a cookie jar, and redirects followed by hand. */
export class Browser {
  readonly #origin: string;
  readonly #cookies = new Map<string, string>();

  constructor(origin: string) {
    this.#origin = origin;
  }

  async visit(path: string, init: RequestInit = {}): Promise<Answer & { location: string }> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = new Headers(init.headers);
    if (cookie) headers.set('cookie', cookie);
    const response = await fetch(new URL(path, this.#origin), {
      ...init,
      headers,
      redirect: 'manual',
    });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=');
      this.#cookies.set(name, value);
    }
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

/** Looks a value up by a dotted path. */
export const at = (value: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (inner, name) =>
        typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined,
      value,
    );
