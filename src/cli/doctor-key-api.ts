import { isMarketgateError } from '../errors/marketgate-error.js';
import { KeyApi } from '../key-api/key-api.js';
import type { Report } from './doctor.js';
import { probe } from './probe.js';
import { type Settings, VARIABLES } from './settings.js';

/** More than this, and support dates and token lives are off by something that is noticed. */
const LARGEST_SKEW = 60_000;

/** Interface A: the address, the connection with its certificate, the clock, the key, the items. */
export async function checkKeyService(settings: Settings, report: Report): Promise<void> {
  const { baseUrl, apiKey, allowInsecure } = settings;
  const later = ['reachable', 'clock', 'api_key', 'items'];
  const skip = (from: number): void => {
    for (const check of later.slice(from)) report(check, 'skipped', 'see above');
  };
  if (baseUrl === undefined || apiKey === undefined) {
    const missing = [!baseUrl && VARIABLES.baseUrl, !apiKey && VARIABLES.apiKey].filter(Boolean);
    report('key API', 'wrong', `set ${missing.join(' and ')}`);
    return skip(0);
  }
  let keyApi: KeyApi;
  try {
    keyApi = new KeyApi({ baseUrl, apiKey, allowInsecure, cache: false, retries: 0 });
  } catch (error) {
    report('key API', 'wrong', String((error as Error).message));
    return skip(0);
  }
  try {
    report(
      'key API',
      'ok',
      `${new URL(baseUrl).host}, ${baseUrl.startsWith('https:') ? 'https' : 'plain http'}`,
    );
    if (!(await checkConnection(baseUrl, report))) return skip(2);
    if (!(await checkKey(keyApi, report))) return skip(3);
    await checkItems(keyApi, report);
  } finally {
    await keyApi.close();
  }
}

async function checkConnection(baseUrl: string, report: Report): Promise<boolean> {
  try {
    const { status, skew } = await probe(baseUrl);
    report('reachable', 'ok', `answers (HTTP ${status})`);
    if (skew === undefined) report('clock', 'skipped', 'the service does not tell its time');
    else {
      const isClose = Math.abs(skew) < LARGEST_SKEW;
      const seconds = Math.round(skew / 1000);
      report(
        'clock',
        isClose ? 'ok' : 'wrong',
        isClose
          ? 'agrees with the service'
          : `the service is ${seconds} s ahead; set this machine's clock`,
      );
    }
    return true;
  } catch (error) {
    report(
      'reachable',
      'wrong',
      `${(error as Error).message}; check the address, the network and the certificate`,
    );
    report('clock', 'skipped', 'see above');
    return false;
  }
}

async function checkKey(keyApi: KeyApi, report: Report): Promise<boolean> {
  try {
    const { username, name } = await keyApi.getAccount();
    report('api_key', 'ok', `accepted; the account of ${name.full_name ?? username}`);
    return true;
  } catch (error) {
    if (!isMarketgateError(error)) throw error;
    report('api_key', 'wrong', error.message);
    return false;
  }
}

async function checkItems(keyApi: KeyApi, report: Report): Promise<void> {
  try {
    const items = await keyApi.listItems();
    report(
      'items',
      'ok',
      items.length === 0
        ? 'readable; the service says there are none'
        : `readable; ${items.length} of them`,
    );
  } catch (error) {
    if (!isMarketgateError(error)) throw error;
    report('items', 'wrong', error.message);
  }
}
