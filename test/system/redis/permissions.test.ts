import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { redisIsMissing, sharedRedis } from '../../support/redis-server.js';
import { hearWarnings } from '../../support/warnings.js';
import { diagnose } from '../../unit/cli/support.js';
import { CLIENTS } from './support/clients.js';
import { STORES } from './support/every-store.js';

// The guide has the permissions that a Redis user needs, in lines that are pasted.
const GUIDE = readFileSync(new URL('../../../examples/guides/redis.md', import.meta.url), 'utf8');
/** The rules of one line of the guide, by what stands above it. */
const RULES = Object.fromEntries(
  [...GUIDE.matchAll(/^(?:# (\w+)|```sh)\nredis-cli ACL SETUSER shop (.*)$/gm)].map(
    ([, name = 'all', rules = '']) => [name, rules.replaceAll("'", '').split(' ')],
  ),
);

describe.skipIf(redisIsMissing())('a Redis user as in the guide', () => {
  async function addUser(...rules: string[]) {
    const server = await sharedRedis();
    const name = `shop-${randomUUID()}`;
    const allow = (...more: string[]) => server.command('ACL', 'SETUSER', name, ...more);
    await allow(...(RULES.all as string[]), ...rules);
    onTestFinished(async () => void (await server.command('ACL', 'DELUSER', name)));
    return { allow, url: server.url.replace('//', `//${name}:PASSWORD@`) };
  }

  it.each(Object.entries(STORES))('%s: may do what the store needs', async (name, works) => {
    const { url } = await addUser(...(RULES[name] as string[]));
    const opened = await CLIENTS['node-redis'](url);
    onTestFinished(() => void opened.close());
    const warnings = hearWarnings();
    await works(opened, opened, 'marketgate:');
    expect(warnings).toEqual([]);
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
