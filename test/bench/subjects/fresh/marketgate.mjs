import { KeyApi } from 'marketgate';
import report from './report.cjs';

const [, , baseUrl, code] = process.argv;
const keyApi = new KeyApi({ baseUrl, apiKey: 'bench' });
report(await keyApi.validatePurchase(code));
