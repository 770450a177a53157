import assert from 'node:assert/strict';
import fc from 'fast-check';
import Keyv from 'keyv';
import { type AccessToken, EncryptedTokenStore } from 'marketgate';
import { KeyvTokenStore } from 'marketgate/keyv';
import { checkError, checkPrototypes, SECRET, secretsOf, settled } from './support/checks.js';
import { fuzz } from './support/fuzz.js';
import { edit, edited, mutated, plain } from './support/mutations.js';

const SECRETS = secretsOf('accessToken');
const NOW = 1_800_000_000_000;
const TOKEN: AccessToken = { value: SECRET.accessToken, issuedAt: NOW, expiresAt: NOW + 3_600_000 };
const USER = 'mira';
const KEYS = [Buffer.alloc(32, 7), Buffer.alloc(32, 9)];

const real = { v: 1, user: USER, ...TOKEN };
const rows = fc.oneof(
  { weight: 6, arbitrary: mutated([real], [SECRET.accessToken]) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  { weight: 1, arbitrary: fc.nat(120).map((n) => JSON.stringify(real).slice(0, n)) },
  { weight: 1, arbitrary: fc.anything() },
);

fuzz(
  'a corrupt row of a token store is none, or an error that shows no secret',
  fc.asyncProperty(rows, fc.boolean(), async (row, isRaw) => {
    const map = new Map<string, unknown>();
    const keyv = new Keyv({ store: map });
    // Under Keyv's own envelope, or in its place.
    if (isRaw) map.set(`${keyv.namespace}:marketgate:token:${USER}`, row);
    else await keyv.set(`marketgate:token:${USER}`, row).catch(() => {});
    const result = await settled(new KeyvTokenStore({ keyv, clock: () => NOW }).get(USER));
    if ('error' in result) checkError(result.error, SECRETS);
    else if (result.value !== undefined) {
      const { value, issuedAt, expiresAt } = result.value;
      assert.ok(typeof value === 'string' && value !== '' && Number.isFinite(issuedAt));
      assert.ok(expiresAt > NOW);
      assert.ok(isRaw || String(row).includes(USER), "another user's row");
    }
    checkPrototypes();
  }),
);

fuzz(
  'a row of EncryptedTokenStore that was changed or moved is none, and one that was made to last longer does not',
  fc.asyncProperty(
    fc.option(edit, { nil: undefined, freq: 8 }),
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
      if (result.value === undefined) {
        assert.ok(value !== row.value || owner !== USER, 'a good row was not read');
        return;
      }
      assert.deepEqual(result.value, TOKEN);
      assert.equal(owner, USER, "another's row");
      assert.equal(plain(value), plain(row.value), 'a changed row was believed');
    },
  ),
);
