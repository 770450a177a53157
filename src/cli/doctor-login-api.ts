import { LoginApi } from '../clients/login-api.js';
import { isMarketgateError } from '../errors.js';
import { checkConnection } from './doctor-connection.js';
import { isSandboxInProduction, SANDBOX_IN_PRODUCTION } from './doctor-sandbox.js';
import type { Report } from './finding.js';
import { type Probe, probe } from './probe.js';
import { type Settings, VARIABLES } from './settings.js';

/** No service gives out this one: it is refused, and how it is refused tells about the app. */
const NO_AUTH_KEY = 'marketgate-doctor';

/** Interface B: the address, the way there if it is another host, the login page, the app's credentials. */
export async function checkLoginService(settings: Settings, report: Report): Promise<void> {
  const { authUrl, appId, appSecret, allowInsecure, timeout } = settings;
  if (authUrl === undefined && appId === undefined && appSecret === undefined) {
    report('login', 'skipped', 'not set up: fine for a site without login');
    return;
  }
  const missing = (['authUrl', 'appId', 'appSecret'] as const).filter((name) => !settings[name]);
  if (authUrl === undefined || appId === undefined || appSecret === undefined) {
    report(
      'login',
      'wrong',
      `set ${missing.map((name) => VARIABLES[name]).join(' and ')}, or name their file with --env-file`,
    );
    return;
  }
  let loginApi: LoginApi;
  try {
    loginApi = new LoginApi({ authUrl, appId, appSecret, allowInsecure, timeout, retries: 0 });
  } catch (error) {
    report('login', 'wrong', String((error as Error).message));
    return;
  }
  try {
    const { host } = new URL(authUrl);
    if (await isSandboxInProduction(authUrl, settings)) {
      report('login', 'wrong', `${host}: ${SANDBOX_IN_PRODUCTION}`);
      report('login page', 'skipped', 'see above');
      report('app', 'skipped', 'see above');
      return;
    }
    report('login', 'ok', host);
    const isThere =
      isSameOrigin(authUrl, settings.baseUrl) ||
      (await checkConnection(authUrl, timeout, report, 'login '));
    if (!isThere) report('login page', 'skipped', 'see above');
    if (isThere && (await checkPage(loginApi, timeout, report))) await checkApp(loginApi, report);
    else report('app', 'skipped', 'see above');
  } finally {
    await loginApi.close();
  }
}

const isSameOrigin = (a: string, b: string | undefined): boolean =>
  b !== undefined && URL.canParse(b) && new URL(a).origin === new URL(b).origin;

async function checkPage(loginApi: LoginApi, timeout: number, report: Report): Promise<boolean> {
  try {
    const page = await probe(loginApi.loginUrl(), timeout);
    const problem = problemOf(page);
    const said = `answers (HTTP ${page.status})`;
    if (problem === undefined) report('login page', 'ok', said);
    else report('login page', problem.status, `${said}; ${problem.detail}`);
    return problem?.status !== 'wrong';
  } catch (error) {
    report('login page', 'wrong', (error as Error).message);
    return false;
  }
}

function problemOf({
  status,
  type,
}: Probe): { status: 'wrong' | 'warning'; detail: string } | undefined {
  if (status >= 500) return { status: 'wrong', detail: 'the service is in trouble' };
  // A redirect leads to where one logs in.
  if (status >= 300 && status < 400) return undefined;
  if (!type.includes('html')) {
    return { status: 'wrong', detail: `not a page, but ${type || 'nothing'}: check the address` };
  }
  if (status < 400) return undefined;
  return {
    status: 'warning',
    detail: 'it may not know this app, or want its redirect URL registered',
  };
}

async function checkApp(loginApi: LoginApi, report: Report): Promise<void> {
  try {
    await loginApi.exchange(NO_AUTH_KEY);
    report(
      'app',
      'wrong',
      'the service gave a token for a made-up auth_key; is this the right address?',
    );
  } catch (error) {
    if (!isMarketgateError(error)) throw error;
    if (error.code === 'auth_key_rejected') report('app', 'ok', 'the service knows it');
    else report('app', 'wrong', error.message);
  }
}
