import { randomUUID } from 'node:crypto';
import { RedisCache, RedisGuessLimit, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { expect, vi } from 'vitest';
import { SOON } from '../../../support/redis-server.js';
import { HOUR, tokenOf } from '../../../unit/stores/support.js';
import { type Opened, untilReady } from './clients.js';

type Works = (here: Opened, there: Opened, prefix: string) => Promise<void>;

/** What one process stores, counts or publishes with each store, another one finds. */
export const STORES = {
  async RedisTokenStore(here, there, prefix) {
    const tokens = ({ client }: Opened) => new RedisTokenStore({ client, prefix });
    const token = tokenOf('a token', Date.now());
    await tokens(here).set('anna', token);
    expect(await tokens(there).get('anna')).toEqual(token);
    await tokens(there).delete('anna');
    expect(await tokens(here).get('anna')).toBeUndefined();
  },

  async RedisHolderStore(here, there, prefix) {
    const holders = ({ client }: Opened) =>
      new RedisHolderStore({ client, prefix, secret: 'x'.repeat(32) });
    expect(await holders(here).take('code', 'anna', 1)).toBe(true);
    expect(await holders(there).take('code', 'bert', 1)).toBe(false);
    expect(await holders(there).holders('code')).toEqual(['anna']);
    await holders(there).release('code', 'anna');
    expect(await holders(here).take('code', 'bert', 1)).toBe(true);
    await holders(there).release('code');
    expect(await holders(here).holders('code')).toEqual([]);
  },

  async RedisGuessLimit(here, there, prefix) {
    const limit = ({ client }: Opened) => new RedisGuessLimit({ client, prefix, limit: 1 });
    expect(await limit(here).check('anna', 'shop')).toBe(0);
    await limit(here).add('anna', 'shop');
    expect(await limit(there).check('anna', 'shop')).toBeGreaterThan(0);
  },

  async RedisCache(here, there, prefix) {
    const cache = ({ client, subscriber }: Opened) =>
      new RedisCache({ client, subscriber, prefix });
    const { lease } = await cache(there).read('key');
    expect(await cache(here).write('key', 'yes', 0, HOUR, lease)).toBe(true);
    expect((await cache(there).read('key')).value).toBe('yes');
    await cache(there).withdraw('key', 'no', HOUR);
    expect(await cache(here).write('key', 'late', 0, HOUR, lease)).toBe(false);
    expect((await cache(here).read('key')).value).toBe('no');

    const heard: string[] = [];
    const onListening = vi.fn();
    const end = await cache(there).subscribe((message) => heard.push(message), onListening);
    await vi.waitFor(() => expect(onListening).toHaveBeenLastCalledWith(true), SOON);
    await cache(here).publish('é "\n');
    await vi.waitFor(() => expect(heard).toEqual(['é "\n']), SOON);
    await end();
  },
} satisfies Record<string, Works>;

export async function expectStoresToWork(here: Opened, there: Opened): Promise<void> {
  const prefix = `${randomUUID()}:`;
  await Promise.all([here, there].map(untilReady));
  for (const works of Object.values(STORES)) await works(here, there, prefix);
}
