import { Pool } from 'undici';
import { z } from 'zod';
import schemaOf from './purchase-schema.cjs';
import report from './report.cjs';
import { PATH, requestOf } from './request.cjs';

const [, , origin, code] = process.argv;
const schema = schemaOf(z);
const { body } = await new Pool(origin).request({ path: PATH, ...requestOf(code) });
report(schema.parse(await body.json()).data.purchase);
