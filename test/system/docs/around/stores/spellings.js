import assert from 'node:assert/strict';
import sqlite from 'node-sqlite3-wasm';
import { SQLITE, SqlHolderStore } from './sql-holder-store.js';

// Support staff finds and frees a code as it was pasted.
const memory = new sqlite.Database();
const db = { query: async (sql, values) => ({ rows: memory.all(sql, values) }) };
await db.query(SQLITE.table);
const store = new SqlHolderStore(db, SQLITE, 'a secret of at least 32 characters');
const code = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';
await store.take(code, 'anna', 1);
const pasted = ` ${code.replaceAll('-', '\u2013').toUpperCase()}\n`;
assert.deepEqual(await store.holders(pasted), ['anna']);
await store.release(pasted);
assert.deepEqual(await store.holders(code), []);
