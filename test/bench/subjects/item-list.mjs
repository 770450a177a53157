// A subject: a list of items, read from the service: 10,000 of which one is broken.
import { KeyApi } from 'marketgate';
import { Pool } from 'undici';

const PATH = '/broken';

const SIDES = {
  /** The body, parsed: nothing is checked. */
  byHand(service) {
    const pool = new Pool(service);
    return async () => {
      const { body } = await pool.request({
        method: 'GET',
        path: `${PATH}/api/items/all?api_key=bench`,
      });
      return JSON.parse(await body.text()).items.filter((item) => item.id !== 'none');
    };
  },
  marketgate(service) {
    const keyApi = new KeyApi({ baseUrl: service + PATH, apiKey: 'bench' });
    return () => keyApi.listItems({ fresh: true });
  },
};

/** @param {{ side: keyof SIDES, service: string }} options */
export default async function makeReader({ side, service }) {
  const read = SIDES[side](service);
  return {
    async answer() {
      const items = await read();
      return [items.length, items[0].id, items.at(-1).name];
    },
    /** The longest time between two turns of the event loop, in milliseconds, while the list is read. */
    async hold() {
      let longest = 0;
      let last = performance.now();
      let isOver = false;
      const look = () => {
        const now = performance.now();
        longest = Math.max(longest, now - last);
        last = now;
        if (!isOver) setImmediate(look);
      };
      setImmediate(look);
      await read();
      isOver = true;
      await new Promise((resolve) => setImmediate(resolve));
      return longest;
    },
    async work(times) {
      for (let i = 0; i < times; i++) await read();
    },
  };
}
