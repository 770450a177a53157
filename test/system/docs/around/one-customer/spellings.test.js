import assert from 'node:assert/strict';
import { test } from 'node:test';
import sqlite from 'node-sqlite3-wasm';
import { SQLITE, SqlHolderStore } from './sql-holder-store.js';

test('a code and a holder are the same in any spelling', async () => {
  const memory = new sqlite.Database();
  const db = { query: async (sql, values) => ({ rows: memory.all(sql, values) }) };
  await db.query(SQLITE.table);
  const store = new SqlHolderStore(db, SQLITE, 'a secret of at least 32 characters');
  const code = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';
  await store.take(code, 'anna', 1);
  for (const pasted of [
    ...['\u2011', '\u2013', '\u2212', '-\u00ad'].map((dash) => code.replaceAll('-', dash)),
    ` ${code.toUpperCase()}\n`,
    code.replace('6', '\uff16'),
  ]) {
    assert.deepEqual(await store.holders(pasted), ['anna'], JSON.stringify(pasted));
  }
  // An id as the app's database gives it.
  await store.take(code, '42', 2);
  await store.release(code, 42);
  assert.deepEqual(await store.holders(code), ['anna']);
  await store.release(code.replaceAll('-', '\u2013'));
  assert.deepEqual(await store.holders(code), []);
});
