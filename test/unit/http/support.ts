import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { KeyApi, LoginApi } from 'marketgate';
import { onTestFinished } from 'vitest';
import { listen } from '../../support/listen.js';
import { account, KEY, purchase, success, userInfo } from '../../support/wire.js';

/** A client that sends each request once, closed with the test. */
export function keyApiOf(baseUrl: string, options: object = {}): KeyApi {
  const keyApi = new KeyApi({ baseUrl, apiKey: KEY, retries: 0, cache: false, ...options });
  onTestFinished(() => keyApi.close());
  return keyApi;
}

export function loginApiOf(authUrl: string, options: object = {}): LoginApi {
  const loginApi = new LoginApi({ authUrl, appId: 'app', appSecret: 'secret', ...options });
  onTestFinished(() => loginApi.close());
  return loginApi;
}

interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
export type Answerer = (request: SeenRequest, res: ServerResponse, n: number) => unknown;

/** A service on a port of its own, whose every answer the test writes; `n` counts the requests from 0. */
export async function startUpstream(answer: Answerer) {
  const requests: SeenRequest[] = [];
  const url = await listen(async (req, res) => {
    const [path = ''] = (req.url ?? '').split('?');
    const seen = { path, headers: req.headers, body: await text(req) };
    answer(seen, res, requests.push(seen) - 1);
  });
  return { url, requests };
}

/** The service: it answers every call with yes. */
export const answered: Answerer = ({ path }, res) => {
  const data = path === '/api/purchases/validation' ? { purchase } : account;
  res.setHeader('content-type', 'application/json');
  res.end(JSON.stringify(success({ access_token: 'token', user_info: userInfo, data })));
};
