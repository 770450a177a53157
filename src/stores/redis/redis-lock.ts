import { randomUUID } from 'node:crypto';
import type { GuardedRedis } from './guarded-redis.js';
import type { RedisCommands } from './redis-commands.js';

/** Looks and deletes in one go, or another could take the lock in between and lose it. */
const GIVE_BACK = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

/**
 * Takes a lock: a key that is set only if it is absent, to a value nobody else has.
 *
 * @returns what gives it back, if it is still the caller's; `undefined` when another holds it.
 * @throws MarketgateError `store_unavailable`.
 */
export async function takeLock(
  redis: GuardedRedis,
  key: string,
  milliseconds: number,
): Promise<(() => Promise<void>) | undefined> {
  const holder = randomUUID();
  const giveBack = (commands: RedisCommands) => commands.run(GIVE_BACK, key, [holder]);
  const reply = await redis.call('lock', async (commands, call) => {
    const taken = await commands.setIfAbsent(key, holder, milliseconds);
    // Nobody knows of it any more: without this, all would wait for its life to be over.
    if (taken === 'OK' && call.ended) await giveBack(commands);
    return taken;
  });
  if (reply !== 'OK') return undefined;
  return async () => {
    await redis.call('unlock', giveBack);
  };
}
