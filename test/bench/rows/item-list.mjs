import { median } from '../harness/numbers.mjs';
import { startProcess } from '../harness/process.mjs';

const CPU = { name: 'cpu', title: 'CPU per list, ms', limit: 'JSON.parse' };
const HOLD = { name: 'hold', title: 'longest hold of the event loop, ms', limit: 'JSON.parse' };
const TIMES = 5;

export default {
  name: 'item-list',
  title: 'A list of 10,000 items',
  about: `The whole catalogue is asked for: 10,000 items, 14 MB of JSON, one of them broken. The limit is
undici's \`Pool.request\` with \`JSON.parse\`, and nothing checked. All others drop the broken item by their
checks; "with its cache" also freezes and keeps the list.`,
  variants: {
    'JSON.parse': { reader: 'parse' },
    marketgate: { reader: 'marketgate' },
    'marketgate with its cache': { reader: 'marketgate-cache' },
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
  notes: `The longest hold is the turn of \`JSON.parse\` alone: the body is decoded in the turn before, and the items are checked
in slices after it. From list to list that turn takes 35 to 50 or 60 to 90 ms, with the cache and without, by what V8
has to collect in it: 15 to 25 ms of it are two scavenges of what the parser allocates. The bare \`JSON.parse\` has both kinds of
turn too (32 and 50 ms in one look at 12 lists), but the long one in three lists of 12; with zod beside it in four, and
in marketgate in six.`,
  goals: [
    { metric: CPU, variant: 'marketgate', most: 1.5, what: 'CPU, to `JSON.parse`' },
    { metric: HOLD, variant: 'marketgate', most: 1, what: 'longest hold, to `JSON.parse`' },
    ...[
      { metric: CPU, most: 1.5, what: 'CPU with the cache, to `JSON.parse`' },
      { metric: HOLD, most: 1, what: 'longest hold with the cache, to `JSON.parse`' },
    ].map((goal) => ({ ...goal, variant: 'marketgate with its cache' })),
  ],
};
