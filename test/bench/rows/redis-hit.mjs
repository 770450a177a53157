import { startRedis } from '../fixtures/redis.mjs';
import { measureWork } from '../harness/measure-work.mjs';
import { startProcess } from '../harness/process.mjs';

const [OURS_NODE, OURS_IO] = ['marketgate on @redis/client', 'marketgate on ioredis'];
const SEALED = '@redis/client GET, HMAC, AES-GCM, JSON.parse';
const SEALED_IO = 'ioredis GET, HMAC, AES-GCM, JSON.parse';
const KEYV = 'Keyv on @redis/client';

const CPU = {
  name: 'cpu',
  title: 'CPU per hit, µs',
  limits: {
    [SEALED]: SEALED,
    [OURS_NODE]: SEALED,
    [KEYV]: SEALED,
    [SEALED_IO]: SEALED_IO,
    [OURS_IO]: SEALED_IO,
  },
};

export default {
  name: 'redis-hit',
  title: 'Shared cache hit through Redis',
  about: `A purchase that another process has put into Redis, 50 at a time. The limit does by hand what keeps codes
unreadable there: HMAC of the key, AES-GCM of the value. marketgate also has a deadline and a breaker, and keeps the answer.`,
  variants: {
    [SEALED]: { library: 'node-redis', reader: 'sealed' },
    [OURS_NODE]: { library: 'node-redis', reader: 'marketgate' },
    [KEYV]: { library: 'node-redis', reader: 'keyv' },
    [SEALED_IO]: { library: 'ioredis', reader: 'sealed' },
    [OURS_IO]: { library: 'ioredis', reader: 'marketgate' },
  },
  async open() {
    const redis = await startRedis();
    const service = await startProcess('fixtures/service.mjs');
    return {
      redis: redis.url,
      service: await service.ask('url'),
      asked: () => service.ask('asked'),
      close: () => Promise.all([redis.stop(), service.stop()]),
    };
  },
  async measure(options, { redis, service, asked }) {
    const all = { ...options, redis, service };
    // On a machine that is too busy Redis misses its deadline, and the service is asked instead: that
    // is another measurement, and is made again.
    for (let attempt = 0; attempt < 5; attempt++) {
      await asked();
      const amounts = { warmUp: 6000, calls: 12_000 };
      const sample = await measureWork('subjects/redis-hit.mjs', all, amounts);
      // The codes were put there by asking for each once.
      if ((await asked()) <= 500) return sample;
    }
    throw new Error('redis-hit: the service was asked');
  },
  metrics: [CPU],
  goals: [
    {
      metric: CPU,
      variant: OURS_NODE,
      most: 1.7,
      what: '@redis/client, to `GET`, HMAC and AES-GCM by hand',
    },
    {
      metric: CPU,
      variant: OURS_IO,
      most: 1.7,
      what: 'ioredis, to `GET`, HMAC and AES-GCM by hand',
    },
  ],
};
