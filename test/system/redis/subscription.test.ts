import { randomUUID } from 'node:crypto';
import { RedisCache } from 'marketgate/redis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { redisIsMissing, SOON, sharedRedis } from '../../support/redis-server.js';
import { hearWarnings } from '../../support/warnings.js';
import { runFixture } from '../run-fixture.js';
import { CLIENTS, EveryClient } from './support/clients.js';
import { expectStoresToWork } from './support/every-store.js';
import { startSentinel } from './support/sentinel.js';

/** A subscription, with what it has heard, and the changes that it has reported since it was last looked at. */
async function listen(cache: RedisCache) {
  const heard: string[] = [];
  const reported: boolean[] = [];
  let last: boolean | undefined;
  const end = await cache.subscribe(
    (message) => heard.push(message),
    (isListening) => {
      if (isListening !== last) reported.push(isListening);
      last = isListening;
    },
  );
  /** The first change and the last one: a client can lose its connection again while a server comes back. */
  const reports = async (first: boolean, last = first) => {
    await vi.waitFor(() => expect([reported[0], reported.at(-1)]).toEqual([first, last]), SOON);
    reported.length = 0;
  };
  return { heard, reported, reports, end };
}

/** Publishes until it is heard, for the same reason. */
const expectToHear = (all: { cache: RedisCache; heard: string[] }[]) =>
  vi.waitFor(async () => {
    for (const { cache } of all) await cache.publish('é after');
    for (const { heard } of all) expect(heard).toContain('é after');
  }, SOON);

describe.skipIf(redisIsMissing())('a subscription, with all kinds of clients', () => {
  let clients: EveryClient;
  beforeAll(async () => {
    clients = await EveryClient.open();
  });
  afterAll(() => clients?.close());

  const listenAll = (prefix: string) =>
    clients.each(async ({ client, subscriber }, kind) => {
      const cache = new RedisCache({ client, subscriber, prefix: `${prefix}${kind}:` });
      return { cache, ...(await listen(cache)) };
    });

  it('goes on after an outage, and can begin and end during one', async () => {
    const prefix = `${randomUUID()}:`;
    const [before, ending] = [await listenAll(prefix), await listenAll(prefix)];
    for (const { reports } of [...before, ...ending]) await reports(false, true);
    await clients.onServers((server) => server.kill());
    for (const { reports } of before) await reports(false);
    const later = listenAll(prefix);
    for (const { end, heard, reported } of ending) {
      await Promise.race([Promise.all([end(), end()]), new Promise(setImmediate)]);
      heard.length = 0;
      reported.length = 0;
    }
    await clients.onServers((server) => server.restart());
    const begun = await later;
    for (const { reports } of before) await reports(true);
    for (const { reports } of begun) await reports(false, true);
    await expectToHear([...before, ...begun]);
    for (const { heard, reported } of ending) expect([...heard, ...reported]).toEqual([]);
    await Promise.all([...before, ...begun].map(({ end }) => end()));
  });

  it('reports a connection that was cut, hears its own channel, and ends without another one of it', async () => {
    const prefix = `${randomUUID()}:`;
    const [ending, staying] = [await listenAll(prefix), await listenAll(prefix)];
    const elsewhere = await listenAll(`${prefix}else:`);
    for (const { reports } of [...ending, ...staying]) await reports(false, true);
    await clients.onServers((server) => server.command('CLIENT', 'KILL', 'TYPE', 'pubsub'));
    for (const { reports } of [...ending, ...staying]) await reports(false, true);
    // It confirms itself by channels that it leaves again.
    await clients.onServers(async (server) => {
      const channels = (await server.command('PUBSUB', 'CHANNELS', `${prefix}*`)) as string[];
      for (const channel of channels) expect(channel).toMatch(/:invalidate$/);
    });
    await Promise.all(ending.map(({ end }) => end()));
    await expectToHear(staying);
    for (const { heard } of [...ending, ...elsewhere]) expect(heard).toEqual([]);
    await Promise.all([...staying, ...elsewhere].map(({ end }) => end()));
  });
});

describe.skipIf(redisIsMissing()).each(['node-redis', 'ioredis'] as const)(
  'a subscription that cannot be, with %s, is reported once',
  (kind) => {
    it('where its permissions forbid it, and begins when it may', async () => {
      const warnings = hearWarnings();
      const server = await sharedRedis();
      const name = `user-${randomUUID()}`;
      const allow = (...rules: string[]) => server.command('ACL', 'SETUSER', name, ...rules);
      await allow('on', '>pw', '~*', '+@all', 'resetchannels', '&elsewhere:*');
      onTestFinished(async () => void (await server.command('ACL', 'DELUSER', name)));
      const opened = await CLIENTS[kind](server.url.replace('//', `//${name}:pw@`));
      onTestFinished(() => void opened.close());
      const cache = new RedisCache({ client: opened.client, subscriber: opened.subscriber });
      const { reported, heard, end } = await listen(cache);
      await vi.waitFor(() => expect(warnings).toEqual(['MARKETGATE_NO_INVALIDATIONS']), SOON);
      expect(reported).toEqual([false]);
      await allow('&marketgate:*');
      await server.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await expectToHear([{ cache, heard }]);
      await vi.waitFor(() => expect(reported.at(-1)).toBe(true), SOON);
      expect(warnings).toHaveLength(1);
      await end();
    });

    it('where the subscriber is closed, or was never connected', async () => {
      const warnings = hearWarnings();
      const { client, subscriber, close } = await CLIENTS[kind]((await sharedRedis()).url);
      close();
      const { reported, end } = await listen(new RedisCache({ client, subscriber }));
      await vi.waitFor(() => expect(warnings).toEqual(['MARKETGATE_NO_INVALIDATIONS']), SOON);
      expect(reported).toEqual([false]);
      await end().catch(() => {});
    });
  },
);

describe.skipIf(redisIsMissing())('with a sentinel', () => {
  let sentinel: Awaited<ReturnType<typeof startSentinel>>;
  beforeAll(async () => {
    sentinel = await startSentinel();
  });
  afterAll(() => sentinel?.stop());

  it.each(['node-redis', 'ioredis'] as const)(
    'of %s every store works, and a subscription reports the loss of its connection',
    async (library) => {
      const { server, open } = sentinel;
      const [here, there] = await Promise.all([open[library](), open[library]()]);
      onTestFinished(() => {
        for (const { close } of [here, there]) close();
      });
      await expectStoresToWork(here, there);
      const cache = new RedisCache({ client: here.client, subscriber: here.subscriber });
      const { reports, heard, end } = await listen(cache);
      await reports(false, true);
      await server.kill();
      await reports(false);
      await server.restart();
      await reports(true);
      await expectToHear([{ cache, heard }]);
      await end();
    },
  );
});

it.skipIf(redisIsMissing())(
  'a process whose Redis clients are closed, but neither its KeyApis nor its subscriptions, exits',
  async () => {
    const { url } = await sharedRedis();
    const program = new URL('./fixtures/closed-client.js', import.meta.url);
    // It would stay for ever, but for the timeout.
    const ended = await runFixture(program, [], [url]);
    const stdout = 'redis: service_unavailable, done\nioredis: service_unavailable, done\n';
    expect(ended).toMatchObject({ code: 0, stdout });
  },
);
