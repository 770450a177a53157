import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KeyApi, LoginApi } from 'marketgate';
import { Agent } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { account, CODE, KEY, success } from '../../support/wire.js';
import type { AnswerFact } from './facts/answer-fact.js';
import { KEY_ANSWER_FACTS, KEY_ENDPOINTS, type KeyEndpoint } from './facts/key-answer-facts.js';
import { LOGIN_ANSWER_FACTS, type LoginEndpoint } from './facts/login-answer-facts.js';
import { endingOf } from './support.js';

const ACCOUNT = '/api/account/details';

const KEY_METHODS: Record<KeyEndpoint, (client: KeyApi) => Promise<unknown>> = {
  '/api/account/details': (client) => client.getAccount(),
  '/api/items/all': (client) => client.listItems(),
  '/api/items/item': (client) => client.getItem(1042),
  '/api/purchases/validation': (client) => client.validatePurchase(CODE),
};

const LOGIN_METHODS: Record<LoginEndpoint, (client: LoginApi) => Promise<unknown>> = {
  '/api/authorize': (client) => client.exchange('an-auth-key'),
  '/api/get_user_info': (client) => client.getUser('a-token'),
};

/** A service that answers as the path says: `/{status}/{endpoint under test}/…`. */
let server: Server;
let current: AnswerFact<string>;
const dispatcher = new Agent();
beforeAll(async () => {
  server = createServer((req, res) => {
    const [, status, tested, path] =
      /^\/(\d+)(\/api\/.*?)\/in(\/api[^?]*)/.exec(req.url ?? '') ?? [];
    req.resume();
    // The check of the key before a no is believed: the key is known.
    if (path === ACCOUNT && tested !== ACCOUNT) {
      res.end(JSON.stringify(success({ data: account })));
      return;
    }
    const body = typeof current.body === 'string' ? current.body : current.body(String(path));
    res.writeHead(Number(status), { 'content-type': 'text/plain' });
    res.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await dispatcher.close();
  server.close();
});

const urlOf = (status: number, endpoint: string): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}/${status}${endpoint}/in`;

/** Asks every endpoint for every status of a fact, each with a client of its own. */
async function tryAll<E extends string>(
  fact: AnswerFact<E>,
  ask: (url: string, endpoint: E) => Promise<unknown>,
): Promise<void> {
  current = fact as unknown as AnswerFact<string>;
  const cells = fact.statuses.flatMap((status) =>
    Object.keys(fact.ends).map(async (name) => {
      const endpoint = name as E;
      const ending = await endingOf(() => ask(urlOf(status, endpoint), endpoint));
      expect.soft(ending.end, `${endpoint}, HTTP ${status}`).toBe(fact.ends[endpoint]);
    }),
  );
  await Promise.all(cells);
}

const named = <E extends string>(facts: readonly AnswerFact<E>[]): [string, AnswerFact<E>][] =>
  facts.map((fact) => [fact.name, fact]);

const COMMON = { retries: 0, dispatcher };

describe('interface A: what an answer means', () => {
  it.each(named(KEY_ANSWER_FACTS))('%s', (_name, fact) =>
    tryAll(fact, (baseUrl, endpoint) =>
      KEY_METHODS[endpoint](new KeyApi({ baseUrl, apiKey: KEY, cache: false, ...COMMON })),
    ),
  );

  it('asks about every endpoint', () => {
    expect(Object.keys(KEY_METHODS)).toEqual(Object.keys(KEY_ENDPOINTS));
  });
});

describe('interface B: what an answer means', () => {
  it.each(named(LOGIN_ANSWER_FACTS))('%s', (_name, fact) =>
    tryAll(fact, (authUrl, endpoint) =>
      LOGIN_METHODS[endpoint](new LoginApi({ authUrl, appId: 'a', appSecret: 'b', ...COMMON })),
    ),
  );
});
