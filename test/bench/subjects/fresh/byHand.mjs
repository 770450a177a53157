import { Pool } from 'undici';
import { z } from 'zod';
import { loaded, report } from './report.mjs';

loaded();
const text = z.string().optional();
const texts = z.array(z.string()).optional();
const item = z.object({
  id: z.int(),
  name: z.string(),
  description: text,
  category: text,
  sub_category: text,
  options: texts,
  version: text,
  demo_link: text,
  tags: texts,
  media: z.object({ thumbnail: z.string(), preview_image: text, screenshots: texts }),
  price: z.object({ regular: z.number(), extended: z.number() }).partial().optional(),
  currency: text,
  published_at: text,
});
const purchase = z.object({
  purchase_code: z.string(),
  license_type: z.string(),
  price: z.number(),
  currency: z.string(),
  item,
  supported_until: text,
  downloaded: z.boolean(),
  date: z.string(),
});
const schema = z.object({ status: z.literal('success'), data: z.object({ purchase }) });

const [, , origin, code] = process.argv;
const { body } = await new Pool(origin).request({
  path: '/api/purchases/validation',
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams({ api_key: 'bench', purchase_code: code }).toString(),
});
report(schema.parse(await body.json()).data.purchase);
