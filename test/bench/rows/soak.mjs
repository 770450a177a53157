import { startRedis } from '../fixtures/redis.mjs';
import { highestSlope } from '../harness/numbers.mjs';
import { startProcess } from '../harness/process.mjs';
import { IS_LONG } from '../harness/rounds.mjs';

const MINUTES = IS_LONG ? 60 : 5;
const TURN = 2000;
/** Each turn of so many is an outage. */
const OUTAGE = 10;
const NAME = 'one process';

/** What may not grow, its unit, and how much it may by 100,000 requests. */
const HELD = {
  heap: { title: 'heap after collection, kB', unit: 1000, most: 100 },
  handles: { title: 'handles', unit: 1, most: 1 },
  sockets: { title: 'sockets', unit: 1, most: 1 },
};

/** What a sample can have. Any other name is a reason to refuse that nobody expects. */
const COUNTED = [
  ...Object.keys(HELD),
  ...['requests', 'passed', 'purchase_code_invalid', 'service_unavailable'],
];

export default {
  name: 'soak',
  title: 'A process that serves for long',
  about: `A guard with RedisCache, ${MINUTES} minutes, 50 visitors at a time: known ones, new ones, wrong codes, refunds, outages. Growth
is the upper end (95 %) of the slope of a straight line through what is held after each turn, without the first quarter.`,
  rounds: 1,
  variants: { [NAME]: {} },
  async open() {
    const [redis, service] = await Promise.all([
      startRedis(),
      startProcess('fixtures/service.mjs'),
    ]);
    return { redis, service, close: () => Promise.all([redis.stop(), service.stop()]) };
  },
  async measure(_options, { redis, service }) {
    const options = { service: await service.ask('url'), redis: redis.url };
    const subject = await startProcess('subjects/soak.mjs', options);
    await subject.ask('fill');
    const samples = [];
    const end = performance.now() + MINUTES * 60_000;
    try {
      for (let turn = 1; performance.now() < end; turn++) {
        const isOutage = turn % OUTAGE === 0;
        if (isOutage) await service.ask('setOutage', turn % 20 === 0 ? 'cuts' : 'fails');
        await subject.ask('work', TURN);
        if (isOutage) {
          await service.ask('setOutage');
          await subject.ask('recover');
        } else {
          samples.push({ requests: turn * TURN, ...(await subject.ask('hold')) });
        }
      }
    } finally {
      await subject.stop();
    }
    const counted = samples.slice(samples.length >> 2);
    const others = Object.keys(samples.at(-1)).filter((name) => !COUNTED.includes(name));
    if (others.length > 0) throw new Error(`soak: refused for another reason: ${others}`);
    const slopes = Object.entries(HELD).map(([name, { unit }]) => {
      const points = counted.map((each) => ({ x: each.requests / 1e5, y: each[name] / unit }));
      return [`${name} slope`, highestSlope(points)];
    });
    return { ...Object.fromEntries(slopes), answer: true };
  },
  goals: Object.entries(HELD).map(([name, { title, most }]) => ({
    metric: { name: `${name} slope` },
    variant: NAME,
    most,
    isAbsolute: true,
    what: `growth in 100,000 requests: ${title}`,
  })),
};
