import { startRedis } from '../fixtures/redis.mjs';
import { short, slopeOf } from '../harness/numbers.mjs';
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

export default {
  name: 'soak',
  title: 'A process that serves for long',
  about: `A guard with RedisCache, ${MINUTES} minutes, 50 visitors at a time: known ones, new ones, wrong codes, refunds, outages. What
the process holds after collection is fitted by a straight line without the first quarter; the slope is for 100,000
requests, with its upper end (95 %).`,
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
    const { requests, passed, purchase_code_invalid, service_unavailable, ...rest } =
      samples.at(-1);
    const found = { requests, passed, denied: purchase_code_invalid, failed: service_unavailable };
    for (const [name, { unit }] of Object.entries(HELD)) {
      const line = slopeOf(
        counted.map((each) => ({ x: each.requests / 1e5, y: each[name] / unit })),
      );
      const [first, last] = [counted[0][name] / unit, counted.at(-1)[name] / unit];
      Object.assign(found, { [`${name} slope`]: line.high, [name]: { ...line, first, last } });
    }
    const { heap: _heap, handles: _handles, sockets: _sockets, ...others } = rest;
    if (Object.keys(others).length > 0) {
      throw new Error(`soak: refused for another reason: ${JSON.stringify(others)}`);
    }
    return { ...found, answer: true };
  },
  tableOf(samples) {
    const [found] = samples.get(NAME);
    const lines = Object.entries(HELD).map(([name, { title }]) => {
      const { first, last, slope, high } = found[name];
      return `| ${[title, ...[first, last, slope, high].map(short)].join(' | ')} |`;
    });
    const counts = ['requests', 'passed', 'denied', 'failed'].map(
      (name) => `${found[name].toLocaleString('en')} ${name}`,
    );
    return [
      `| ${counts.join(', ')} | first | last | slope | upper end |`,
      '| --- | ---: | ---: | ---: | ---: |',
      ...lines,
    ].join('\n');
  },
  metrics: [],
  goals: Object.entries(HELD).map(([name, { title, most }]) => ({
    metric: { name: `${name} slope` },
    variant: NAME,
    most,
    isAbsolute: true,
    what: `growth in 100,000 requests: ${title}`,
  })),
};
