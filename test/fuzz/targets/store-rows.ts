import assert from 'node:assert/strict';
import fc from 'fast-check';
import Keyv from 'keyv';
import { type AccessToken, EncryptedTokenStore, type TokenStore } from 'marketgate';
import { KeyvTokenStore } from 'marketgate/keyv';
import { RedisTokenStore } from 'marketgate/redis';
import { checkError, checkPrototypes, SECRET, secretsOf, settled } from '../support/checks.js';
import { type Target, target } from '../support/fuzz.js';
import { edit, edited, mutated, plain } from '../support/mutations.js';

const SECRETS = secretsOf('accessToken');
const NOW = 1_800_000_000_000;
const clock = () => NOW;
const TOKEN: AccessToken = { value: SECRET.accessToken, issuedAt: NOW, expiresAt: NOW + 3_600_000 };
const USER = 'mira';
const KEYS = [Buffer.alloc(32, 7), Buffer.alloc(32, 9)];

/** As much of a node-redis client as the store uses, with one row that the test writes. */
function redisWith(row: unknown): ConstructorParameters<typeof RedisTokenStore>[0]['client'] {
  const nothing = async () => null;
  const client = {
    ...{ isOpen: true, isReady: true, get: async () => row, set: async () => 'OK', del: nothing },
    ...{ eval: nothing, publish: nothing, subscribe: nothing, pTTL: nothing, connect: nothing },
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

const change = fc.option(edit, { nil: undefined, freq: 8 });

/** Rows of stores that were corrupted, or written by somebody else. */
export const storeRows = (): Target[] => [
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
      change,
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
        const value = change ? edited(row.value, change) : row.value;
        inner.set(USER, { ...row, value, expiresAt: row.expiresAt + later });
        const result = await settled(store.get(USER));
        assert.ok('value' in result, 'a corrupt row is no row, not a failure');
        if (result.value !== undefined) {
          assert.deepEqual(result.value, TOKEN);
          assert.equal(owner, USER, "another's row");
          assert.equal(plain(value), plain(row.value), 'a changed row was believed');
        } else {
          assert.ok(value !== row.value || owner !== USER, 'a good row was not read');
        }
      },
    ),
  ),
];
