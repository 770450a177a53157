import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isMarketgateError } from 'marketgate';
import { RedisCache, RedisGuessLimit, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CLIENTS, redisIsMissing, SOON, sharedRedis } from '../../support/redis-server.js';
import { hearWarnings } from '../../support/warnings.js';
import { diagnose } from '../../unit/cli/support.js';
import { HOUR, tokenOf } from '../../unit/stores/support.js';

// The guide has the permissions that a Redis user needs, in lines that are pasted.
const GUIDE = readFileSync(new URL('../../../examples/guides/redis.md', import.meta.url), 'utf8');
/** The rules of one line of the guide, by what stands above it. */
const RULES = Object.fromEntries(
  [...GUIDE.matchAll(/^(?:# (\w+)|```sh)\nredis-cli ACL SETUSER shop (.*)$/gm)].map(
    ([, name = 'all', rules = '']) => [name, rules.replaceAll("'", '').split(' ')],
  ),
);
const KINDS = ['node-redis', 'ioredis'] as const;

type Opened = Awaited<ReturnType<(typeof CLIENTS)[(typeof KINDS)[number]]>>;

/** Ends all subscriptions. Valkey refuses that where there is none. */
const endAll = ({ subscriber }: Opened) =>
  subscriber.unsubscribe().catch((error: Error) => {
    if (!error.message.startsWith('NOSUB')) throw error;
  });

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
        if (!reported.includes(true)) throw new Error('NOPERM: it receives nothing');
      },
    ];
  },
  RedisGuessLimit: ({ client }) => {
    const limit = new RedisGuessLimit({ client });
    const who = randomUUID();
    return [
      async () => void (await limit.check(who, 'shop')),
      () => limit.add(who, 'shop'),
      async () => void (await limit.check(who, 'shop')),
    ];
  },
  RedisTokenStore: ({ client }) => {
    const store = new RedisTokenStore({ client });
    const token = { ...tokenOf(), expiresAt: Date.now() + HOUR };
    return [() => store.set('anna', token), () => store.get('anna'), () => store.delete('anna')];
  },
  RedisHolderStore: ({ client }) => {
    const secret = 'x'.repeat(32);
    const code = randomUUID();
    const store = new RedisHolderStore({ client, secret });
    return [
      () => store.take(code, 'anna', 2),
      () => store.take(code, 'bert', 2),
      () => store.holders(code),
      () => store.release(code, 'anna'),
      () => store.release(code),
    ];
  },
};

describe.skipIf(redisIsMissing()).each(KINDS)('a Redis user as in the guide, with %s', (kind) => {
  async function openAs(...rules: string[]) {
    const server = await sharedRedis();
    const name = `shop-${randomUUID()}`;
    const allow = (...more: string[]) => server.command('ACL', 'SETUSER', name, ...more);
    await allow(...(RULES.all as string[]), ...rules);
    onTestFinished(async () => void (await server.command('ACL', 'DELUSER', name)));
    const url = server.url.replace('//', `//${name}:PASSWORD@`);
    const opened = await CLIENTS[kind](url);
    onTestFinished(() => void opened.close());
    await vi.waitFor(() => opened.client.eval('return 1', 0 as never), SOON);
    return { opened: opened as Opened, allow, url };
  }

  it.each(Object.keys(USES))('%s: may do what the store needs, and nothing else', async (name) => {
    const rules = RULES[name] as string[];
    expect(rules.length, `the guide has a line for ${name}`).toBeGreaterThan(2);
    const { opened, allow } = await openAs(...rules);
    const use = async () => {
      let refused = 0;
      for (const call of USES[name]?.(opened) ?? []) {
        await call().catch((error: Error) => {
          if (!/NOPERM/.test(error.message)) throw error;
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
      // ioredis leaves a rejection unhandled when a subscription is refused as it reconnects.
      if (rule.startsWith('&')) await endAll(opened);
      await allow(rule.startsWith('&') ? 'resetchannels' : `-${rule.slice(1)}`);
      // A subscription that lost its permission loses its connection.
      await vi.waitFor(async () => expect(await use(), `without ${rule}`).toBeGreaterThan(0), SOON);
      await allow(rule);
    }
    await vi.waitFor(async () => expect(await use()).toBe(0), SOON);
    expect(new Set(warnings)).toContain('MARKETGATE_REDIS_REFUSES');
  });

  it('is tried by doctor, which names what is refused', async () => {
    const { opened, allow, url } = await openAs(...Object.values(RULES).flat());
    const REDIS_URL = url;
    const well = await diagnose({ REDIS_URL });
    const tried = ', tried with names that begin with marketgate:';
    expect(well.said.redis).toMatch(/^127\.0\.0\.1:\d+ answers; one script and one channel work,/);
    expect(well.said.redis).toContain(tried);
    await endAll(opened);
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

  it('who may not run a command of a script is told so, and no secret with it', async () => {
    const { opened } = await openAs(...(RULES.RedisHolderStore as string[]), '-scard');
    const store = new RedisHolderStore({ client: opened.client, secret: 'x'.repeat(32) });
    const error = await store.take('code-1', 'anna', 1).catch((each: unknown) => each);
    expect(isMarketgateError(error) && error.message).toMatch(
      /^RedisHolderStore\.take failed \(NOPERM: this user may not run (SCARD|a command of this script)\)/,
    );
  });
});
