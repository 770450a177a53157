import { Pool } from 'undici';
import report from './report.cjs';
import { PATH, requestOf } from './request.cjs';

const [, , origin, code] = process.argv;
const { body } = await new Pool(origin).request({ path: PATH, ...requestOf(code) });
report((await body.json()).data.purchase);
