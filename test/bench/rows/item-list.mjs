import { median } from '../harness/numbers.mjs';
import { startProcess } from '../harness/process.mjs';

const CPU = { name: 'cpu', title: 'CPU per list, ms', limit: 'JSON.parse' };
const HOLD = { name: 'hold', title: 'longest hold, ms', limit: 'JSON.parse' };
const TIMES = 5;

export default {
  name: 'item-list',
  title: 'A list of 10,000 items',
  rounds: 15,
  about: `10,000 items, 14 MB of JSON, one of them broken. The limit checks nothing; the others leave the broken item out, and
marketgate freezes and keeps the list, once each \`ttl\`. 15 rounds.`,
  variants: {
    'JSON.parse': { reader: 'parse' },
    marketgate: { reader: 'marketgate' },
    'JSON.parse and zod': { reader: 'zod' },
  },
  async open() {
    const service = await startProcess('fixtures/service.mjs');
    return { service: await service.ask('url'), close: () => service.stop() };
  },
  async measure(options, { service }) {
    const child = await startProcess('subjects/item-list.mjs', { ...options, service });
    try {
      const answer = await child.ask('answer');
      await child.ask('work', 2);
      const begun = await child.ask('cpu');
      await child.ask('work', TIMES);
      const cpu = ((await child.ask('cpu')) - begun) / TIMES / 1000;
      const holds = [];
      for (let i = 0; i < TIMES; i++) holds.push(await child.ask('hold'));
      return { cpu, hold: median(holds), answer };
    } finally {
      await child.stop();
    }
  },
  metrics: [CPU, HOLD],
  goals: [
    { metric: CPU, variant: 'marketgate', most: 1.5, what: 'CPU, to `JSON.parse`' },
    {
      metric: HOLD,
      variant: 'marketgate',
      most: 1.5,
      what: 'longest hold of the event loop, to `JSON.parse`',
    },
  ],
};
