import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import KeyvPostgres from '@keyv/postgres';
import Keyv from 'keyv';
import { KeyvTokenStore } from 'marketgate/keyv';
import { describeTokenStore } from 'marketgate/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { everythingOf, rejection } from '../support/errors.js';
import { ROOT } from '../system/docs/support/pages.js';
import { writePage } from '../system/docs/support/workspace.js';
import { NOW, SECRET, tokenOf } from '../unit/stores/support.js';

// A PostgreSQL in this process and in memory: real SQL, and no server to install. It takes seconds to start: one for both.
const db = await PGlite.create();

vi.doMock('@electric-sql/pglite', () => ({
  PGlite: class {
    query = db.query.bind(db);
  },
}));
vi.doMock('node:test', () => ({ describe, it }));
const folder = join(ROOT, `test/.built/${process.pid}`);
const guide = writePage('examples/guides/stores.md', join(folder, 'docs/stores'));
await import(join(guide, 'stores.test.ts'));
vi.doUnmock('@electric-sql/pglite');
vi.doUnmock('node:test');

it('the SqlHolderStore of the guide frees a code as it was pasted', async () => {
  const { POSTGRES, SqlHolderStore } = await import(join(guide, 'sql-holder-store.ts'));
  const store = new SqlHolderStore(db, POSTGRES, 'a secret of at least 32 characters');
  const code = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';
  await store.take(code, 'anna', 1);
  await store.release(` ${code.replaceAll('-', '\u2013').toUpperCase()}\n`);
  expect(await store.holders(code)).toEqual([]);
});

let postgres: PGLiteSocketServer;
let keyv: Keyv;

beforeAll(async () => {
  postgres = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0, maxConnections: 20 });
  await postgres.start();
  const uri = `postgresql://postgres:postgres@${postgres.getServerConn()}/postgres`;
  // A connection is used once: one that idles when the server goes is an uncaught error, for
  // @keyv/postgres does not listen to its pool.
  keyv = new Keyv({ store: new KeyvPostgres({ uri, maxUses: 1 }) });
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await keyv.disconnect();
  await postgres.stop();
  await db.close();
});

describeTokenStore(
  'KeyvTokenStore on PostgreSQL keeps the contract',
  () => ({ store: new KeyvTokenStore({ keyv }) }),
  { describe, it, expect },
);

// The last one: there is no PostgreSQL after it.
it('when PostgreSQL goes away, every call rejects, and none says that there is no token', async () => {
  const store = new KeyvTokenStore({ keyv, clock: () => NOW });
  await store.set('anna', tokenOf());
  expect(await store.get('anna')).toEqual(tokenOf());
  await postgres.stop();
  const calls = [
    () => store.get('anna'),
    () => store.get('nobody'),
    () => store.set('anna', tokenOf()),
    () => store.delete('anna'),
  ];
  for (const call of calls) {
    const error = await rejection(call());
    expect(error.code).toBe('store_unavailable');
    expect(error.message).toContain('ECONNREFUSED');
    expect(everythingOf(error)).not.toContain(SECRET);
  }
});
