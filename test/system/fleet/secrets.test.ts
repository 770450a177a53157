import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisIsMissing, sharedRedis } from '../../support/redis-server.js';
import { purchase } from '../../support/wire.js';
import { Bench } from './support/bench.js';
import { legible, RedisSpy } from './support/redis-spy.js';
import { INVALID } from './support/service.js';
import { until } from './support/until.js';

const API_KEY = 'sentinel-api-key-8c1f0b7d9a3e5f42';
const CODE = '5e471e10-7a35-4b62-9c1f-0d8e5a7b3c21';
const WRONG = `${INVALID}5e471e11-0d8e5a7b3c21`;
const TOKEN = 'sentinel-token-of-mira-2b9d6c4f';
const USED_KEY = 'sentinel-auth-key-77aa31';
const TOKEN_KEY = randomBytes(32).toString('base64');
const SECRETS = [
  ...[API_KEY, CODE, WRONG, TOKEN, USED_KEY, TOKEN_KEY],
  ...[purchase.item.name, purchase.item.description, purchase.date, 'license_type', '192.0.2.77'],
];

describe.skipIf(redisIsMissing())('everything that Redis sees', () => {
  let bench: Bench;
  let spy: RedisSpy;

  beforeAll(async () => {
    spy = await RedisSpy.start(await sharedRedis());
    bench = await Bench.start({
      processes: 2,
      isPatient: true,
      apiKey: API_KEY,
      tokenKey: TOKEN_KEY,
    });
  });
  afterAll(async () => {
    await bench?.stop();
    spy?.close();
  });

  it('holds no secret in clear', async () => {
    const { fleet } = bench;
    const messages = spy.messages.length;
    const [one, two] = fleet.workers;
    await fleet.ask(CODE, 5);
    await fleet.ask(WRONG, 5, 'guard');
    expect(await one?.do('visit', { code: `${WRONG}-2`, visitor: '192.0.2.77' })).toBe(403);
    await one?.do('setToken', { user: 'mira', value: TOKEN });
    expect((await two?.do('getToken', { user: 'mira' }))?.value).toBe(TOKEN);
    expect(await one?.do('claim', { name: USED_KEY })).toBe(true);
    for (const code of [CODE, WRONG]) await one?.do('invalidate', { code });
    await fleet.ask(CODE, 5);
    await fleet.ask(CODE, 5, 'guard');
    await until('the messages were heard', () => spy.messages.length >= messages + 4);

    const everything = await spy.everything();
    // It saw all of them: answers, locks, a token, a claim, guesses and invalidations.
    for (const kind of ['cache:row:', 'cache:lock:', 'token:', 'guess:', 'token:claim:']) {
      expect(everything.some((word) => word.startsWith(`marketgate:${kind}`))).toBe(true);
    }
    expect(legible(SECRETS, everything)).toEqual([]);
  });

  it('would have been found in clear and in the usual disguises', () => {
    const found = (text: string) => legible([CODE], ['before', text]);
    const json = JSON.stringify({ deep: { code: CODE } });
    for (const text of [
      json,
      Buffer.from(json).toString('base64'),
      `1.${Buffer.from(`x${json}`).toString('base64url')}`,
      Buffer.from(json).toString('hex'),
      CODE.toUpperCase(),
    ]) {
      expect(found(text)).toEqual([CODE]);
    }
    expect(found('nothing')).toEqual([]);
  });
});
