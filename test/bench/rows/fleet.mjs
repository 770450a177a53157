import { startRedis } from '../fixtures/redis.mjs';
import { quantile } from '../harness/numbers.mjs';
import { startProcess } from '../harness/process.mjs';
import { IS_LONG } from '../harness/rounds.mjs';

const [ALONE, SHARED] = ['without Redis', 'with RedisCache'];
const PROCESSES = 8;
const CODES = 100_000;
const SECONDS = IS_LONG ? 600 : 120;
const TTL = SECONDS * 250;
const PER_SECOND = 25;

const CALLS = { name: 'calls', title: 'calls for each code and ttl' };
const P99 = { name: 'p99', title: 'p99 of a guard, ms', limit: ALONE };

const start = (options) => startProcess('subjects/fleet-member.mjs', options);

/** Lets a process serve until it is restarted, and another one until the end. */
async function serve(first, options, begun, number) {
  const parts = [];
  const end = begun + SECONDS * 1000;
  const restart = begun + (SECONDS * 1000 * (number + 1)) / (PROCESSES + 1);
  let member = first;
  for (const until of [restart, end]) {
    member ??= await start(options);
    parts.push(await member.ask('serve', { perSecond: PER_SECOND, until }));
    await member.stop();
    member = undefined;
  }
  return parts;
}

export default {
  name: 'fleet',
  title: `A fleet of ${PROCESSES} processes`,
  about: `${PROCESSES} processes with ${PER_SECOND} customers a second each, for ${SECONDS / 60} minutes, codes by Zipf's law, one after the other restarted.
\`ttl\` is ${TTL / 1000} s, the service takes 20 ms. One call is needed for each code and \`ttl\`, counted at the service. One round.`,
  rounds: 1,
  variants: { [ALONE]: { isShared: false }, [SHARED]: { isShared: true } },
  async open() {
    const service = await startProcess('fixtures/service.mjs', { latency: 20 });
    return { service, close: () => service.stop() };
  },
  async measure({ isShared }, { service }) {
    const redis = isShared ? await startRedis() : undefined;
    try {
      const url = await service.ask('url');
      await service.ask('count', TTL);
      const options = { service: url, redis: redis?.url, codes: CODES, ttl: TTL };
      const members = await Promise.all(Array.from({ length: PROCESSES }, () => start(options)));
      const begun = Date.now();
      const all = await Promise.all(
        members.map((member, number) => serve(member, options, begun, number)),
      );
      const waits = all.flat().flatMap((part) => part.waits);
      const failed = all.flat().reduce((sum, part) => sum + part.failed, 0);
      const { calls, needed, codes } = await service.ask('counted');
      const asked = (100 * calls) / waits.length;
      const p99 = quantile(waits, 0.99);
      return { calls: calls / needed, asked, codes, p99, failed, answer: true };
    } finally {
      await redis?.stop();
    }
  },
  metrics: [
    CALLS,
    { name: 'asked', title: 'calls for 100 requests' },
    P99,
    { name: 'failed', title: 'requests that failed' },
  ],
  goals: [
    { metric: CALLS, variant: SHARED, most: 1.02, isAbsolute: true, what: CALLS.title },
    { metric: P99, variant: SHARED, most: 2, what: 'p99, to a fleet without Redis' },
  ],
};
