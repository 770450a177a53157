import { median } from '../harness/numbers.mjs';
import { startAll, withProcess } from '../harness/process.mjs';

const TIMES = 5;

export default {
  title: 'A list of 10,000 items',
  rounds: 15,
  about: `14 MB of JSON, one item broken. By hand: \`JSON.parse\`, and nothing checked. marketgate leaves the broken item out, freezes the
list and keeps it, once each \`ttl\`.`,
  open: () => startAll({ service: 'fixtures/service.mjs' }),
  async measure({ side }, { service }) {
    const options = { side, service: await service.ask('url') };
    return withProcess('subjects/item-list.mjs', options, async (child) => {
      const answer = await child.ask('answer');
      await child.ask('work', 2);
      const begun = await child.ask('cpu');
      await child.ask('work', TIMES);
      const cpu = ((await child.ask('cpu')) - begun) / TIMES / 1000;
      const holds = [];
      for (let i = 0; i < TIMES; i++) holds.push(await child.ask('hold'));
      return { cpu, hold: median(holds), answer };
    });
  },
  metrics: [
    { key: 'cpu', title: 'CPU of a list, ms', most: 1.5 },
    { key: 'hold', title: 'longest hold of the event loop, ms', most: 1.5 },
  ],
};
