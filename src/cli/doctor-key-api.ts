import { KeyApi } from '../clients/key-api.js';
import { isMarketgateError } from '../errors.js';
import { checkConnection } from './doctor-connection.js';
import { isSandboxInProduction, SANDBOX_IN_PRODUCTION } from './doctor-sandbox.js';
import type { Report } from './finding.js';
import { type Settings, VARIABLES } from './settings.js';

/** The key API: the address, the way there, the key, the items. */
export async function checkKeyService(settings: Settings, report: Report): Promise<void> {
  const { baseUrl, apiKey, allowInsecure, timeout } = settings;
  const skip = (...checks: string[]): void => {
    for (const check of checks) report(check, 'skipped', 'see above');
  };
  const onTheWay = ['reachable', 'https', 'certificate', 'clock'];
  if (baseUrl === undefined || apiKey === undefined) {
    const missing = [!baseUrl && VARIABLES.baseUrl, !apiKey && VARIABLES.apiKey].filter(Boolean);
    report('key API', 'wrong', `set ${missing.join(' and ')}, or name their file with --env-file`);
    return skip(...onTheWay, 'api_key', 'items');
  }
  let keyApi: KeyApi;
  try {
    keyApi = new KeyApi({ baseUrl, apiKey, allowInsecure, timeout, cache: false, retries: 0 });
  } catch (error) {
    report('key API', 'wrong', String((error as Error).message));
    return skip(...onTheWay, 'api_key', 'items');
  }
  try {
    const { host } = new URL(baseUrl);
    if (await isSandboxInProduction(baseUrl, settings)) {
      report('key API', 'wrong', `${host}: ${SANDBOX_IN_PRODUCTION}`);
      return skip(...onTheWay, 'api_key', 'items');
    }
    report('key API', 'ok', host);
    if (!(await checkConnection(baseUrl, timeout, report))) return skip('api_key', 'items');
    if (!(await checkKey(keyApi, report))) return skip('items');
    await checkItems(keyApi, report);
  } finally {
    await keyApi.close();
  }
}

async function checkKey(keyApi: KeyApi, report: Report): Promise<boolean> {
  try {
    const { username, name } = await keyApi.getAccount();
    report('api_key', 'ok', `accepted; the account of ${name.full_name || username}`);
    return true;
  } catch (error) {
    if (!isMarketgateError(error)) throw error;
    report('api_key', 'wrong', error.message);
    return false;
  }
}

async function checkItems(keyApi: KeyApi, report: Report): Promise<void> {
  try {
    const { length } = await keyApi.listItems();
    if (length === 0) report('items', 'ok', 'readable; the service says there are none');
    else report('items', 'ok', `readable; ${length} of them`);
  } catch (error) {
    if (!isMarketgateError(error)) throw error;
    report('items', 'wrong', error.message);
  }
}
