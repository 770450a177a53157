import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import KeyvPostgres from '@keyv/postgres';
import Keyv from 'keyv';
import { KeyvTokenStore } from 'marketgate/keyv';
import { describeTokenStore } from 'marketgate/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { everythingOf, rejection } from '../../support/errors.js';
import { NOW, SECRET, tokenOf } from '../../unit/stores/support.js';

// A PostgreSQL on a loopback port, in this process and in memory: real SQL, and no server to install.
let db: PGlite;
let postgres: PGLiteSocketServer;
let keyv: Keyv;

beforeAll(async () => {
  db = await PGlite.create();
  postgres = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0, maxConnections: 20 });
  await postgres.start();
  const uri = `postgresql://postgres:postgres@${postgres.getServerConn()}/postgres`;
  // A connection is used once: one that idles when the server goes is an uncaught error, for
  // @keyv/postgres does not listen to its pool.
  keyv = new Keyv({ store: new KeyvPostgres({ uri, maxUses: 1 }) });
});

afterAll(async () => {
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
