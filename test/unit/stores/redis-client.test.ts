import {
  RedisCache,
  type RedisClient,
  RedisGuessLimit,
  RedisHolderStore,
  RedisTokenStore,
} from 'marketgate/redis';
import { expect, it } from 'vitest';
import { rejection } from '../../support/errors.js';
import { hearWarnings } from '../../support/warnings.js';
import { FakeNodeRedis } from './redis-fakes.js';

// What real clients do: test/system/redis.

const client = new FakeNodeRedis().asClient;
const subscriber = new FakeNodeRedis().asClient;
const URL_WITH_SECRET = 'redis://user:SENTINEL-password@127.0.0.1:1';

const MAKERS: Record<string, (given: unknown) => unknown> = {
  'RedisTokenStore: option "client"': (given) => new RedisTokenStore({ client: given as never }),
  'RedisCache: option "client"': (given) => new RedisCache({ client: given as never, subscriber }),
  'RedisCache: option "subscriber"': (given) =>
    new RedisCache({ client, subscriber: given as never }),
  'RedisGuessLimit: option "client"': (given) => new RedisGuessLimit({ client: given as never }),
  'RedisHolderStore: option "client"': (given) =>
    new RedisHolderStore({ client: given as never, secret: 'x'.repeat(32) }),
};

/** A client that lacks something, or has something else. */
const but = (changes: object): unknown => Object.assign(new FakeNodeRedis(), changes);

it.each<[string, unknown]>([
  ['null', null],
  ['a URL', URL_WITH_SECRET],
  ['the options of a client', { url: URL_WITH_SECRET }],
  ['a Promise of a client', Promise.resolve(client)],
  ['a function that makes one', () => client],
  ['one of redis 3', but({ isOpen: undefined })],
  ['one in legacyMode', but({ options: { legacyMode: true } })],
  ['half a client', but({ eval: undefined, subscribe: undefined })],
])('%s is no Redis client: a TypeError says what to pass', (_what, value) => {
  for (const [option, make] of Object.entries(MAKERS)) {
    const attempt = () => make(value);
    expect(attempt).toThrow(TypeError);
    expect(attempt).toThrow(`${option} must be a client of redis 4.6 or later`);
    expect(attempt).toThrow('without legacyMode');
    expect(attempt).not.toThrow('SENTINEL');
  }
});

it.each([
  ['nothing', undefined],
  ['the client itself', client],
])('%s is no subscriber of RedisCache: it is a second connection', (_what, wrong) => {
  const attempt = () => new RedisCache({ client, subscriber: wrong as RedisClient });
  expect(attempt).toThrow(TypeError);
  expect(attempt).toThrow(/^RedisCache: option "subscriber" must .*client\.duplicate\(\)/);
});

/** What Redis 6.2 to 8 and Valkey 8 answer, by what the error says of it. */
const ANSWERS: Record<string, string[]> = {
  'NOPERM: this user may not run EVAL': [
    "NOPERM this user has no permissions to run the 'eval' command",
    "NOPERM User app has no permissions to run the 'eval' command",
  ],
  'NOPERM: this user may not run TIME': [
    "ERR ACL failure in script: User app has no permissions to run the 'time' command script: 5c2a, on @user_script:1.",
  ],
  'NOPERM: this user may not run a command of this script': [
    "ERR The user executing the script can't run this command or subcommand script: 5c2a, on @user_script:1.",
  ],
  'NOPERM: this user may not use this key': [
    "ERR The user executing the script can't access at least one of the keys mentioned in the command script: 5c2a",
    'NOPERM this user has no permissions to access one of the keys used as arguments',
  ],
  'NOPERM: this user may not use this channel': [
    'NOPERM this user has no permissions to access one of the channels used as arguments',
  ],
  'it has no EVAL': [
    "ERR unknown command 'EVAL', with args beginning with: 'SECRET'",
    'ERR unknown command `EVAL`, with args beginning with: `SECRET`',
  ],
  READONLY: ["READONLY You can't write against a read only replica. script: 1"],
  OOM: [
    'OOM command not allowed when used memory',
    'ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed when used memory',
  ],
  LOADING: ['LOADING Redis is loading the dataset in memory'],
  CLUSTERDOWN: ['CLUSTERDOWN The cluster is down'],
  Error: ['SECRET the rest', 'ERR value is not an integer: SECRET OOM'],
};
const PASSING = ['LOADING', 'CLUSTERDOWN', 'Error'];

it.each(Object.entries(ANSWERS))(
  'what Redis answers is in the error, and a warning says once what lasts: %s',
  async (says, answers) => {
    const warnings = hearWarnings();
    for (const answer of answers) {
      const refusing = new FakeNodeRedis();
      refusing.eval.mockRejectedValue(new Error(answer));
      const store = new RedisTokenStore({ client: refusing.asClient });
      const { message } = await rejection(store.get('a'));
      expect(message).toContain(`RedisTokenStore.get failed (${says}); look at`);
    }
    expect(warnings).toEqual(PASSING.includes(says) ? [] : ['MARKETGATE_REDIS_REFUSES']);
  },
);
