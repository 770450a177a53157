import { KeyApi } from 'marketgate';
import { loaded, report } from './report.mjs';

loaded();
const [, , baseUrl, code] = process.argv;
report(await new KeyApi({ baseUrl, apiKey: 'bench' }).validatePurchase(code));
