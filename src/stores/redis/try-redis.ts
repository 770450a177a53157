import { randomUUID } from 'node:crypto';
import { type RedisClient, redisOf, subscriberOf } from './clients.js';
import { refusalOf } from './refusals.js';

/** How the names of its key and its channel begin, as those of stores without a `prefix` do. */
export const TRIED = 'marketgate:';

/** The commands that the stores run, on one key. */
const COMMANDS = [
  ...['SET # 1 PX 5000', 'GET #', 'PTTL #', 'PEXPIRE # 5000', 'INCR #', 'DEL #'],
  ...['SADD # a', 'SISMEMBER # a', 'SCARD #', 'SMEMBERS #', 'SREM # a'],
].map((command) => command.split(' '));

/** Replies with what is refused: each time the command and the error. */
const SCRIPT = `local refused = {}
for _, command in ipairs(cjson.decode(ARGV[1])) do
  for i, word in ipairs(command) do if word == '#' then command[i] = KEYS[1] end end
  local reply = redis.pcall(unpack(command))
  if type(reply) == 'table' and reply.err then
    table.insert(refused, command[1])
    table.insert(refused, reply.err)
  end
end
return refused`;

/**
 * Tries one script, with the commands of all stores, and one channel: for `marketgate doctor`. A caller limits the time.
 * @returns what Redis refuses, in words without a secret.
 */
export async function tryRedis(client: RedisClient, subscriber: RedisClient): Promise<string[]> {
  const owner = 'tryRedis';
  const redis = redisOf(owner, client);
  const name = `${TRIED}doctor:${randomUUID()}`;
  const refused: string[] = [];
  const attempt = async (what: string, run: () => Promise<unknown>): Promise<void> => {
    try {
      await run();
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === undefined) throw error;
      refused.push(`${what} (${refusal.text})`);
    }
  };
  await attempt('EVAL', async () => {
    const reply = (await redis.run(SCRIPT, [name], [JSON.stringify(COMMANDS)])) as unknown[];
    for (let i = 0; i < reply.length; i += 2) {
      const text = refusalOf({ message: String(reply[i + 1]) })?.text ?? 'failed';
      refused.push(`${reply[i]} (${text})`);
    }
  });
  await attempt('PUBLISH', () => redis.publish(name, ''));
  const { confirm, end } = subscriberOf(owner, subscriber, client).subscribe(name, () => {});
  await attempt('SUBSCRIBE', confirm);
  await end();
  return refused;
}
