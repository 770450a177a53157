// A subject: a list of items, read from the service: 10,000 of which one is broken, or of another size.
import { KeyApi } from 'marketgate';
import { Pool } from 'undici';
import { z } from 'zod';

const text = z.string().optional();
const texts = z.array(z.string()).optional();
/** The same rules as the package's own. */
const itemSchema = z.looseObject({
  id: z.int(),
  name: z.string(),
  description: text,
  category: text,
  sub_category: text,
  options: texts,
  version: text,
  demo_link: text,
  tags: texts,
  media: z.looseObject({ thumbnail: text, preview_image: text, screenshots: texts }),
  price: z.looseObject({ regular: z.number().optional(), extended: z.number().optional() }),
  currency: text,
  published_at: text,
});

/** Room and time for 100,000 items. */
const LARGE = { maxResponseBytes: 256 * 1024 * 1024, timeout: 120_000 };

const READERS = {
  /** The body, parsed: nothing is checked. */
  parse(service, path) {
    const pool = new Pool(service);
    return async () => {
      const { body } = await pool.request({
        method: 'GET',
        path: `${path}/api/items/all?api_key=bench`,
      });
      return JSON.parse(await body.text()).items.filter((item) => item.id !== 'none');
    };
  },
  zod(service, path) {
    const pool = new Pool(service);
    return async () => {
      const { body } = await pool.request({
        method: 'GET',
        path: `${path}/api/items/all?api_key=bench`,
      });
      const { items } = JSON.parse(await body.text());
      return items.filter((item) => itemSchema.safeParse(item).success);
    };
  },
  marketgate(service, path) {
    const options = { baseUrl: `${service}${path}`, apiKey: 'bench', ...LARGE };
    const keyApi = new KeyApi(options);
    return () => keyApi.listItems({ fresh: true });
  },
};

/** @param {{ reader: keyof READERS, service: string, size?: number }} options */
export default async function makeReader({ reader, service, size }) {
  const read = READERS[reader](service, `/${size ?? 'broken'}`);
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
