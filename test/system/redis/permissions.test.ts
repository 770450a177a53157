import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { RedisCache, RedisGuessLimit, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { redisIsMissing, SOON, sharedRedis } from '../../support/redis-server.js';
import { hearWarnings } from '../../support/warnings.js';
import { diagnose } from '../../unit/cli/support.js';
import { HOUR, tokenOf } from '../../unit/stores/support.js';
import { CLIENTS, type Opened } from './support/clients.js';

// The guide has the permissions that a Redis user needs, in lines that are pasted.
const GUIDE = readFileSync(new URL('../../../examples/guides/redis.md', import.meta.url), 'utf8');
/** The rules of one line of the guide, by what stands above it. */
const RULES = Object.fromEntries(
  [...GUIDE.matchAll(/^(?:# (\w+)|```sh)\nredis-cli ACL SETUSER shop (.*)$/gm)].map(
    ([, name = 'all', rules = '']) => [name, rules.replaceAll("'", '').split(' ')],
  ),
);

/** Everything that each store can be asked, one after the other. */
const USES: Record<string, (opened: Opened) => (() => Promise<unknown>)[]> = {
  RedisCache: ({ client, subscriber }) => {
    const cache = new RedisCache({ client, subscriber });
    const key = randomUUID();
    return [
      () => cache.read(key),
      () => cache.write(key, 'value', 0, HOUR, ''),
      () => cache.withdraw(key, 'value', HOUR),
      () => cache.publish('message'),
      async () => {
        const reported: boolean[] = [];
        const end = await cache.subscribe(
          () => {},
          (isListening) => reported.push(isListening),
        );
        await end();
        if (!reported.includes(true)) throw new Error('NOPERM: this user may not listen');
      },
    ];
  },
  RedisGuessLimit: ({ client }) => {
    const limit = new RedisGuessLimit({ client });
    const who = randomUUID();
    return [
      () => limit.check(who, 'shop'),
      () => limit.add(who, 'shop'),
      () => limit.check(who, 'shop'),
    ];
  },
  RedisTokenStore: ({ client }) => {
    const store = new RedisTokenStore({ client });
    const token = tokenOf('a token', Date.now());
    return [() => store.set('anna', token), () => store.get('anna'), () => store.delete('anna')];
  },
  RedisHolderStore: ({ client }) => {
    const store = new RedisHolderStore({ client, secret: 'x'.repeat(32) });
    const code = randomUUID();
    return [
      () => store.take(code, 'anna', 2),
      () => store.take(code, 'bert', 2),
      () => store.holders(code),
      () => store.release(code, 'anna'),
      () => store.release(code),
    ];
  },
};

describe.skipIf(redisIsMissing())('a Redis user as in the guide', () => {
  async function addUser(...rules: string[]) {
    const server = await sharedRedis();
    const name = `shop-${randomUUID()}`;
    const allow = (...more: string[]) => server.command('ACL', 'SETUSER', name, ...more);
    await allow(...(RULES.all as string[]), ...rules);
    onTestFinished(async () => void (await server.command('ACL', 'DELUSER', name)));
    return { allow, url: server.url.replace('//', `//${name}:PASSWORD@`) };
  }

  it.each(Object.keys(USES))('%s: may do what the store needs, and nothing else', async (name) => {
    const rules = RULES[name] as string[];
    expect(rules.length, `the guide has a line for ${name}`).toBeGreaterThan(2);
    const { allow, url } = await addUser(...rules);
    const opened = await CLIENTS['node-redis'](url);
    onTestFinished(() => void opened.close());
    const use = async () => {
      let refused = 0;
      for (const call of USES[name]?.(opened) ?? []) {
        await call().catch((error: Error) => {
          expect(error.message).toContain('NOPERM: this user may not ');
          refused++;
        });
      }
      return refused;
    };
    const warnings = hearWarnings();
    expect(await use()).toBe(0);
    expect(warnings).toEqual([]);
    // UNSUBSCRIBE is for the clients of the libraries, when they end a subscription.
    for (const rule of rules.filter((each) => each !== '+unsubscribe')) {
      await allow(rule.startsWith('&') ? 'resetchannels' : `-${rule.slice(1)}`);
      // A subscription that lost its permission loses its connection.
      await vi.waitFor(async () => expect(await use(), `without ${rule}`).toBeGreaterThan(0), SOON);
      await allow(rule);
    }
    await vi.waitFor(async () => expect(await use()).toBe(0), SOON);
    expect(new Set(warnings)).toContain('MARKETGATE_REDIS_REFUSES');
  });

  it('is tried by doctor, which names what is refused', async () => {
    const { allow, url: REDIS_URL } = await addUser(...Object.values(RULES).flat());
    const well = await diagnose({ REDIS_URL });
    const tried = ', tried with names that begin with marketgate:';
    expect(well.said.redis).toMatch(/^127\.0\.0\.1:\d+ answers; one script and one channel work,/);
    expect(well.said.redis).toContain(tried);
    await allow('-get', '-sadd', 'resetchannels');
    const { found, said } = await diagnose({ REDIS_URL });
    expect(found.redis).toBe('wrong');
    const names = said.redis?.replace(/ \(NOPERM[^)]*\)/g, '');
    expect(names).toContain(`: it refuses GET, SADD, PUBLISH, SUBSCRIBE${tried}; give its user`);
    await allow('-eval');
    const { said: none } = await diagnose({ REDIS_URL });
    expect(none.redis).toContain('it refuses EVAL (NOPERM: this user may not run EVAL)');
    expect(none.redis).not.toContain('PASSWORD');
  });
});
