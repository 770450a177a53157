import { inspect } from 'node:util';
import { KeyApi, LoginApi, MarketplaceStrategy } from 'marketgate';
import { RedisHolderStore } from 'marketgate/redis';
import { describe, expect, it } from 'vitest';
import { FakeNodeRedis } from '../stores/redis-fakes.js';

const LONG = 'a-secret-of-32-characters-0123456';
const app = { appId: 'app', appSecret: 'app-secret' };
const loginApi = new LoginApi({ authUrl: 'https://market.example', ...app });

const strategyWith = (cookieSecret: unknown) =>
  new MarketplaceStrategy(
    { loginApi, loginAttempts: { cookieSecret: cookieSecret as string } },
    ({ profile }) => profile,
  );

const MAKERS: Record<string, (secret: unknown) => unknown> = {
  'cache.secret': (secret) =>
    new KeyApi({
      baseUrl: 'https://market.example',
      apiKey: 'key',
      cache: { secret: secret as string, scope: 'shop' },
    }),
  secret: (secret) =>
    new RedisHolderStore({ client: new FakeNodeRedis().asClient, secret: secret as string }),
  'loginAttempts.cookieSecret': strategyWith,
  'loginAttempts.cookieSecret of several': (secret) => strategyWith([LONG, secret]),
};

describe.each(Object.entries(MAKERS))('the secret %s', (name, make) => {
  const option = name.split(' ')[0] ?? '';

  it.each<[string, unknown]>([
    ['31 characters', LONG.slice(0, 31)],
    ['a few, and blanks', `keyboard cat${' '.repeat(30)}`],
    ['nothing', ''],
    ['a number', 12_345_678_901_234],
    ['bytes', Buffer.alloc(32)],
  ])('is refused when it is %s, and not repeated', (_what, secret) => {
    let error: unknown;
    try {
      make(secret);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toContain(`option "${option}" must be a secret of at least 32`);
    if (typeof secret === 'string' && secret.trim().length > 1) {
      expect(inspect(error)).not.toContain(secret.trim());
    }
  });

  it('has 32 characters or more', () => {
    expect(() => make(LONG.slice(0, 32))).not.toThrow();
  });
});
