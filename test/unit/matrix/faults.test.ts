import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KeyApi, LoginApi, type MarketgateError } from 'marketgate';
import { createSandbox, type Sandbox, type SandboxListening } from 'marketgate/sandbox';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { everythingOf } from '../../support/errors.js';
import { authKeyOf, Browser } from '../sandbox/support.js';
import { FAULT_FACTS, type FaultFact } from './facts/fault-facts.js';
import { endingOf } from './support.js';

const UNKNOWN_CODE = '11111111-2222-4333-8444-555555555555';
const ACCOUNT = '/api/account/details';

/** A service of its own for each method, so that its requests can be counted while all are asked. */
interface Place extends SandboxListening {
  readonly sandbox: Sandbox;
  readonly browser: Browser;
  readonly code: string;
  token: string;
}

interface Method {
  readonly name: string;
  readonly path: string;
  readonly ends: 'positive' | 'negative';
  readonly isExchange: boolean;
  /** The only path that is broken, where that is not the one that is asked. */
  readonly only?: `/${string}`;
  readonly ask: (place: Place, keyApi: KeyApi, loginApi: LoginApi) => Promise<unknown>;
}

const of = (
  name: string,
  path: string,
  ends: Method['ends'],
  ask: Method['ask'],
  isExchange = false,
): Method => ({ name, path, ends, ask, isExchange });

const ITEM = '/api/items/item';
const VALIDATION = '/api/purchases/validation';

const METHODS: Method[] = [
  of('getAccount', ACCOUNT, 'positive', (_p, keyApi) => keyApi.getAccount()),
  of('listItems', '/api/items/all', 'positive', (_p, keyApi) => keyApi.listItems()),
  of('getItem, hit', ITEM, 'positive', (_p, keyApi) => keyApi.getItem(1042)),
  of('getItem, miss', ITEM, 'negative', (_p, keyApi) => keyApi.getItem(7)),
  of('validatePurchase, valid', VALIDATION, 'positive', ({ code }, keyApi) =>
    keyApi.validatePurchase(code),
  ),
  of('validatePurchase, invalid', VALIDATION, 'negative', (_p, keyApi) =>
    keyApi.validatePurchase(UNKNOWN_CODE),
  ),
  of(
    'exchange',
    '/api/authorize',
    'positive',
    async (place, _a, loginApi) => loginApi.exchange(await newKey(place)),
    true,
  ),
  of('getUser', '/api/get_user_info', 'positive', ({ token }, _a, loginApi) =>
    loginApi.getUser(token),
  ),
];

/** While the key is checked, no code or item is called invalid. */
const CHECKS: Method[] = METHODS.filter(({ ends }) => ends === 'negative').map((method) => ({
  ...method,
  name: `${method.name}, while the key is checked`,
  only: ACCOUNT,
}));
const ALL = [...METHODS, ...CHECKS];

const newKey = async ({ browser, appId }: Place): Promise<string> =>
  authKeyOf(await browser.logIn(appId));

async function openPlace(): Promise<Place> {
  const sandbox = createSandbox({
    clock: () => Date.UTC(2026, 10, 21, 10),
    redirectUrl: 'http://localhost:3999/callback',
  });
  const listening = await sandbox.listen();
  const place: Place = {
    ...listening,
    sandbox,
    browser: new Browser(listening.authUrl),
    code: sandbox.codes.find(({ kind }) => kind === 'supported')?.code ?? '',
    token: '',
  };
  const { authUrl, appId, appSecret } = listening;
  const loginApi = new LoginApi({ authUrl, appId, appSecret, clock: sandbox.clock });
  place.token = (await loginApi.exchange(await newKey(place))).value;
  await loginApi.close();
  return place;
}

const places = new Map<Method, Place>();
const placeOf = (method: Method): Place => places.get(method) as Place;

/** Another host, to which a careless client would bring the secrets. */
let elsewhere: Server;
let strayed = 0;
beforeAll(async () => {
  elsewhere = createServer((_req, res) => {
    strayed++;
    res.end('{"status":"success","access_token":"stolen"}');
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  for (const method of ALL) places.set(method, await openPlace());
});
afterAll(async () => {
  elsewhere.close();
  await Promise.all([...places.values()].map(({ sandbox }) => sandbox.close()));
});
afterEach(() => {
  for (const { sandbox } of places.values()) sandbox.faults.clear();
});

const elsewhereUrl = (): string =>
  `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/api/items/all`;

/** Sets the faults, for every path or one. */
function breakDown(sandbox: Sandbox, { faults }: FaultFact, only?: `/${string}`): void {
  const { redirect, ...others } = faults;
  const away = typeof redirect === 'object' && {
    redirect: { ...redirect, location: elsewhereUrl() },
  };
  Object.assign(sandbox.faults, others, away, { only });
}

async function ask(method: Method, { options }: FaultFact) {
  const place = placeOf(method);
  const common = { clock: place.sandbox.clock, ...options };
  const { baseUrl, apiKey, authUrl, appId, appSecret } = place;
  const keyApi = new KeyApi({ baseUrl, apiKey, cache: { max: 9, maxInvalid: 9 }, ...common });
  const loginApi = new LoginApi({ authUrl, appId, appSecret, ...common });
  place.sandbox.clearRequests();
  let error: MarketgateError | undefined;
  const ending = await endingOf(() =>
    method.ask(place, keyApi, loginApi).catch((reason) => {
      error = reason;
      throw reason;
    }),
  );
  await Promise.all([keyApi.close(), loginApi.close()]);
  const tries = place.sandbox.requests.filter(({ path }) => path === method.path).length;
  return { ending, error, tries };
}

function expectNoSecret(cell: string, method: Method, error: unknown): void {
  const { apiKey, appSecret, token, code } = placeOf(method);
  const said = everythingOf(error);
  for (const secret of [apiKey, appSecret, token, code, UNKNOWN_CODE]) {
    expect.soft(said.includes(secret), `${cell}: a secret in its error`).toBe(false);
  }
}

describe.each(FAULT_FACTS.map((fact): [string, FaultFact] => [fact.name, fact]))(
  'a service with this fault: %s',
  (_name, fact) => {
    it('every method ends as it must, after as many requests as it may', async () => {
      const asked = ALL.map(async (method) => {
        breakDown(placeOf(method).sandbox, fact, method.only);
        return [method, await ask(method, fact)] as const;
      });
      for (const [method, { ending, error, tries }] of await Promise.all(asked)) {
        const mustRepeat = method.isExchange && fact.tries > 1;
        const answered = fact.ends === 'answered' ? method.ends : fact.ends;
        const end = mustRepeat ? 'service_unavailable' : answered;
        expect.soft(ending.end, method.name).toBe(end);
        const isSentOnce = method.isExchange || method.only !== undefined;
        expect.soft(tries, `${method.name}: requests`).toBe(isSentOnce ? 1 : fact.tries);
        if (error === undefined) continue;
        expectNoSecret(method.name, method, error);
        if (method.only !== undefined) continue;
        expect.soft(error.retryAfter, method.name).toBe(fact.retryAfter);
        expect.soft(error.message, method.name).toMatch(fact.says ?? /./);
      }
      expect(strayed).toBe(0);
    });
  },
);

describe('the faults that are tried', () => {
  it('are all that the sandbox has', () => {
    const { only, times, ...faults } = createSandbox().faults;
    const tried = new Set(FAULT_FACTS.flatMap((fact) => Object.keys(fact.faults)));
    expect(Object.keys(faults).filter((name) => !tried.has(name))).toEqual([]);
  });
});
