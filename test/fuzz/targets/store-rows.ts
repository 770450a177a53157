import assert from 'node:assert/strict';
import fc from 'fast-check';
import Keyv from 'keyv';
import { type AccessToken, EncryptedTokenStore, KeyApi, type TokenStore } from 'marketgate';
import { KeyvTokenStore } from 'marketgate/keyv';
import { RedisCache, RedisTokenStore } from 'marketgate/redis';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { checkError, checkPrototypes, SECRET, secretsOf, settled } from '../support/checks.js';
import { mutated } from '../support/mutations.js';
import type { RealAnswers } from '../support/real-answers.js';
import { answering, ServiceInMemory } from '../support/service-in-memory.js';
import { type Target, target } from '../support/target.js';

const SECRETS = secretsOf('apiKey', 'code', 'accessToken');
const NOW = 1_800_000_000_000;
const clock = () => NOW;
const TOKEN: AccessToken = { value: SECRET.accessToken, issuedAt: NOW, expiresAt: NOW + 3_600_000 };
const USER = 'mira';
const KEYS = [Buffer.alloc(32, 7), Buffer.alloc(32, 9)];

/** What was shared, and under which names it was looked for. */
class Recorder extends MemorySharedCache {
  readonly looked = new Set<string>();

  override read(key: string): ReturnType<MemorySharedCache['read']> {
    this.looked.add(key);
    return super.read(key);
  }
}

interface SharedEntry {
  readonly value: string;
  readonly order: number;
  readonly expiresAt: number;
}

/**
 * As much of a node-redis client as these stores use, with one row that the test writes, and one of the
 * shared cache under all names but some.
 */
function redisWith(
  row: unknown,
  sharedAt: (key: string) => SharedEntry | undefined = () => undefined,
): ConstructorParameters<typeof RedisTokenStore>[0]['client'] {
  const nothing = async () => null;
  const time = [String(NOW / 1000), '9'];
  const run = async (_script: string, { keys: [key = ''] }: { keys: string[] }) => {
    const shared = sharedAt(key);
    return shared === undefined
      ? [null, -2, ...time]
      : [`${shared.order}:${shared.value}`, shared.expiresAt - NOW, ...time];
  };
  const client = {
    isOpen: true,
    isReady: true,
    get: async () => row,
    set: async () => 'OK',
    del: async () => 1,
    ...{ eval: run, publish: nothing, subscribe: nothing, pTTL: nothing, connect: nothing },
    ...{ duplicate: () => client, on: () => client, once: () => client },
  };
  return client as never;
}

const real = { v: 1, user: USER, ...TOKEN };
const rows = fc.oneof(
  { weight: 6, arbitrary: mutated([real], [SECRET.accessToken]) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  {
    weight: 1,
    arbitrary: fc.nat(120).map((n) => JSON.stringify(real).slice(0, n)),
  },
  { weight: 1, arbitrary: fc.anything() },
);

/** What a row says, if it is one of this user at all. */
function tokenIn(row: unknown): AccessToken | undefined {
  if (typeof row !== 'string') return undefined;
  try {
    const found: unknown = JSON.parse(row);
    if (typeof found !== 'object' || found === null || Array.isArray(found)) return undefined;
    const { v, user, value, issuedAt, expiresAt } = found as Record<string, unknown>;
    if (v !== 1 || user !== USER || typeof value !== 'string' || value === '') return undefined;
    if (!Number.isFinite(issuedAt) || !Number.isFinite(expiresAt)) return undefined;
    return { value, issuedAt: issuedAt as number, expiresAt: expiresAt as number };
  } catch {
    return undefined;
  }
}

async function checkRow(store: TokenStore, expected: AccessToken | undefined): Promise<void> {
  const result = await settled(store.get(USER));
  if ('error' in result) {
    assert.equal(checkError(result.error, SECRETS).code, 'store_unavailable');
    return;
  }
  const isAlive = expected !== undefined && expected.expiresAt > NOW;
  assert.deepEqual(result.value, isAlive ? expected : undefined);
  checkPrototypes();
}

/** Change a text somewhere; `undefined` leaves it. */
const edit = fc.option(
  fc.record({ at: fc.nat(600), with: fc.string({ maxLength: 2 }), cut: fc.nat(3) }),
  { nil: undefined, freq: 8 },
);
type Edit = { at: number; with: string; cut: number } | undefined;
const edited = (text: string, change: Edit): string =>
  change === undefined
    ? text
    : text.slice(0, change.at % text.length) +
      change.with +
      text.slice((change.at % text.length) + change.cut);

/** Rows of stores and of the shared cache that were corrupted, or written by somebody else. */
export const storeRows = (answers: RealAnswers): Target[] => [
  target('stores:redis-row', 'a row of RedisTokenStore', () =>
    fc.asyncProperty(rows, async (row) => {
      await checkRow(new RedisTokenStore({ client: redisWith(row), clock }), tokenIn(row));
    }),
  ),
  target('stores:keyv-row', 'a row of KeyvTokenStore', () =>
    fc.asyncProperty(rows, fc.boolean(), async (row, isRaw) => {
      const map = new Map<string, unknown>();
      const keyv = new Keyv({ store: map });
      // Under Keyv's own envelope, or in its place.
      if (isRaw) map.set(`${keyv.namespace}:marketgate:token:${USER}`, row);
      else await keyv.set(`marketgate:token:${USER}`, row).catch(() => {});
      const result = await settled(new KeyvTokenStore({ keyv, clock }).get(USER));
      if ('error' in result) checkError(result.error, SECRETS);
      else if (result.value !== undefined && !isRaw) assert.deepEqual(result.value, tokenIn(row));
      checkPrototypes();
    }),
  ),
  target('stores:encrypted-row', 'a row of EncryptedTokenStore', () =>
    fc.asyncProperty(
      edit,
      fc.constantFrom(USER, 'noah'),
      fc.nat(2),
      async (change, owner, later) => {
        const inner = new Map<string, AccessToken>();
        const store = new EncryptedTokenStore(
          {
            get: async (user) => inner.get(user),
            set: async (user, token) => void inner.set(user, token),
            delete: async (user) => void inner.delete(user),
          },
          { keys: KEYS },
        );
        await store.set(owner, TOKEN);
        const row = inner.get(owner) as AccessToken;
        const value = edited(row.value, change);
        inner.set(USER, { ...row, value, expiresAt: row.expiresAt + later });
        const result = await settled(store.get(USER));
        assert.ok('value' in result, 'a corrupt row is no row, not a failure');
        if (result.value !== undefined) {
          assert.deepEqual(result.value, TOKEN);
          assert.ok(owner === USER && later === 0, "another's row, or one made to last longer");
          assert.equal(plain(value), plain(row.value), 'a changed row was believed');
        } else {
          assert.ok(value !== row.value || owner !== USER || later > 0, 'a good row was not read');
        }
      },
    ),
  ),
  target('cache:shared-row', 'a row of the shared cache', () =>
    fc.asyncProperty(edit, fc.boolean(), fc.boolean(), async (change, isMoved, isRedis) => {
      const shared = new Recorder(clock);
      const body = JSON.stringify(answers.purchase[0]);
      const yes = (code: string): unknown => JSON.parse(body.replace(SECRET.code, code));
      const refusal = () => ({ status: 'error', msg: 'Invalid purchase code' });
      const askedBy = (says: (code: string) => unknown, cache: object, code: string) => {
        const dispatcher = new ServiceInMemory(({ path }) =>
          answering(path.startsWith('/api/account') ? answers.account[0] : says(code)),
        );
        const keyApi = new KeyApi({
          baseUrl: 'https://market.example',
          apiKey: SECRET.apiKey,
          dispatcher,
          clock,
          retries: 0,
          cache: { max: 4, maxInvalid: 4, ...cache },
        });
        return { keyApi, answer: settled(keyApi.validatePurchase(code)) };
      };
      const first = askedBy(yes, { shared }, isMoved ? 'another-code-1' : SECRET.code);
      await first.answer;
      const [[beginning, generation] = [''], [name, row] = ['']] = shared.rows;
      assert.ok(row !== undefined, 'the answer was not shared');
      const value = edited(row.value, change);
      // What else is looked for there is as it was.
      const rowAt = (key: string): SharedEntry | undefined => {
        if (key.endsWith(beginning)) return generation;
        const isElsewhere = shared.looked.has(key.slice(key.lastIndexOf(':') + 1));
        return isElsewhere && !key.endsWith(name) ? undefined : { ...row, value };
      };
      const corrupt = isRedis
        ? new RedisCache({ client: redisWith(undefined, rowAt) })
        : Object.assign(new MemorySharedCache(clock), {
            read: async (key: string) => {
              const { value, order, expiresAt } = rowAt(key) ?? { order: 0, expiresAt: NOW };
              return { value, order, ttl: expiresAt - NOW, now: NOW * 1000 + 9 };
            },
          });
      const second = askedBy(refusal, { shared: corrupt }, SECRET.code);
      const result = await second.answer;
      assert.ok('value' in result, 'a corrupt row is no row, not a failure');
      const isGood = !isMoved && plain(value) === plain(row.value);
      if (result.value !== null) assert.ok(isGood, 'who can write there granted a purchase');
      else assert.ok(value !== row.value || isMoved, 'a good row was not read');
      await Promise.all([first.keyApi.close(), second.keyApi.close()]);
    }),
  ),
];

/** The bytes that a text of base64 parts stands for: its last characters hold bits without meaning. */
const plain = (text: string): string =>
  text
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString('latin1'))
    .join('.');
