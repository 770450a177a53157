import report from './report.cjs';
import { PATH, requestOf } from './request.cjs';

const [, , origin, code] = process.argv;
const response = await fetch(`${origin}${PATH}`, requestOf(code));
report((await response.json()).data.purchase);
