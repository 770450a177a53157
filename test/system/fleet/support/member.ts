import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { errorHandler, KeyApi, requirePurchase } from 'marketgate';
import { RedisCache, RedisGuessLimit, type RedisStoreOptions } from 'marketgate/redis';
import { Agent } from 'undici';
import { CLIENTS } from '../../../support/redis-server.js';
import type { MemberSettings } from './commands.js';

/** What a process of the fleet is made of: as an app would put it together. */
export interface Member {
  readonly keyApi: KeyApi;
  /** Its own Express app: a route behind the guard, whose visitors are told apart by a header. */
  readonly url: string;
  close(): Promise<void>;
}

/** A cache whose locks outlive a holder that is slow because the machine is busy. */
class LongLocks extends RedisCache {
  constructor(
    options: RedisStoreOptions,
    readonly factor: number,
  ) {
    super(options);
  }

  override lock(key: string, ttl: number) {
    return super.lock(key, ttl * this.factor);
  }
}

export async function createMember(settings: MemberSettings): Promise<Member> {
  const { client, close } = await CLIENTS[settings.client](settings.redisUrl);
  const timeout = settings.isPatient ? 60_000 : undefined;
  // Many connections, or the requests of a crowd would wait for each other and not for Redis.
  const dispatcher = new Agent({ connections: 64 });
  const keyApi = new KeyApi({
    baseUrl: settings.serviceUrl,
    apiKey: 'key-of-the-shop',
    clock: () => Date.now() + (settings.skew ?? 0),
    retries: 0,
    timeout,
    dispatcher,
    cache: { shared: new LongLocks({ client, timeout }, settings.lockFactor ?? 1) },
  });
  const app = express();
  app.get(
    '/guarded',
    requirePurchase(keyApi, {
      guessLimit: new RedisGuessLimit({
        client,
        timeout,
        limit: 5,
        keyGenerator: (req) => req.get('x-visitor') ?? '',
      }),
    }),
    (_req, res) => void res.end(),
  );
  app.use(errorHandler());
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    keyApi,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/guarded`,
    async close() {
      await keyApi.close();
      await dispatcher.destroy();
      server.closeAllConnections();
      server.close();
      close();
    },
  };
}
