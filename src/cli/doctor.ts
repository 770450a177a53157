import { KeyApi } from '../clients/key-api.js';
import { LoginApi } from '../clients/login-api.js';
import { isMarketgateError } from '../errors.js';
import { SANDBOX_HEADER } from '../sandbox/console/sandbox-header.js';
import {
  checkConnection,
  describeNetworkFailure,
  noAnswer,
  type Probe,
  probe,
  type Report,
  type Status,
} from './connection.js';
import { colorsOf, type Io, printable, table } from './io.js';
import { missingSettings, type Settings, type VARIABLES } from './settings.js';

/**
 * `marketgate doctor`: checks the settings, the key API, the login API and Redis, in that order.
 * @returns the exit code: 0 when nothing is wrong, else 1.
 */
export async function doctor(settings: Settings, json: boolean, io: Io): Promise<number> {
  const findings: { check: string; status: Status; detail: string }[] = [];
  const colors = colorsOf(io);
  const mark = { ok: colors.green, warning: colors.yellow, wrong: colors.red, skipped: colors.dim };
  const report: Report = (check, status, detail) => {
    const finding = { check, status, detail: printable(detail) };
    findings.push(finding);
    if (json) return;
    const columns = [status.padEnd('warning'.length), check.padEnd('login certificate'.length)];
    io.out(table([[mark[status](columns[0] ?? ''), columns[1] ?? '', finding.detail]]));
  };
  if (settings.file !== undefined) report('settings', 'ok', `read from ${settings.file}`);
  await checkKeyApi(settings, report);
  await checkLogin(settings, report);
  await checkRedis(settings, report);
  const isOk = findings.every(({ status }) => status !== 'wrong');
  if (json) io.out(JSON.stringify({ ok: isOk, findings }, null, 2));
  return isOk ? 0 : 1;
}

/** Checks the key API: its address, the connection, the key, the items. */
async function checkKeyApi(settings: Settings, report: Report): Promise<void> {
  const { baseUrl = '', apiKey = '', allowInsecure, timeout } = settings;
  const skip = skipper(report);
  const all = ['reachable', 'https', 'certificate', 'clock', 'api_key', 'items'];
  const needed = ['baseUrl', 'apiKey'] as const;
  const keyApi = await makeClient('key API', baseUrl, settings, report, needed, () => {
    return new KeyApi({ baseUrl, apiKey, allowInsecure, timeout, cache: false, retries: 0 });
  });
  if (keyApi === undefined) return skip(...all);
  try {
    if (!(await checkConnection(baseUrl, timeout, report))) return skip('api_key', 'items');
    const isAccepted = await reportCall('api_key', report, async () => {
      const { username, name } = await keyApi.getAccount();
      return `accepted; the account of ${name.full_name || username}`;
    });
    if (!isAccepted) return skip('items');
    await reportCall('items', report, async () => {
      const { length } = await keyApi.listItems();
      return length === 0 ? 'readable; the service says there are none' : `readable; ${length}`;
    });
  } finally {
    await keyApi.close();
  }
}

/** An auth_key that no service issues. The refusal shows whether the service knows the app. */
const NO_AUTH_KEY = 'marketgate-doctor';

/** Checks the login API: its address, the connection if its origin is another one, the login page, the app. */
async function checkLogin(settings: Settings, report: Report): Promise<void> {
  const { authUrl = '', appId = '', appSecret = '', allowInsecure, timeout } = settings;
  const skip = skipper(report);
  if (`${authUrl}${appId}${appSecret}` === '') {
    return report('login', 'skipped', 'not set up: fine for a site without login');
  }
  const needed = ['authUrl', 'appId', 'appSecret'] as const;
  const loginApi = await makeClient('login', authUrl, settings, report, needed, () => {
    return new LoginApi({ authUrl, appId, appSecret, allowInsecure, timeout, retries: 0 });
  });
  if (loginApi === undefined) return skip('login page', 'app');
  try {
    const isReached =
      isSameOrigin(authUrl, settings.baseUrl) ||
      (await checkConnection(authUrl, timeout, report, 'login '));
    if (!isReached) return skip('login page', 'app');
    if (!(await checkLoginPage(loginApi.loginUrl(), timeout, report))) return skip('app');
    await reportCall('app', report, async () => {
      try {
        await loginApi.exchange(NO_AUTH_KEY);
      } catch (error) {
        if (isMarketgateError(error) && error.code === 'auth_key_rejected') return 'known';
        throw error;
      }
      report('app', 'wrong', 'the service accepts a made-up auth_key; check the address');
      return undefined;
    });
  } finally {
    await loginApi.close();
  }
}

const isSameOrigin = (a: string, b: string | undefined): boolean =>
  b !== undefined && URL.canParse(b) && new URL(a).origin === new URL(b).origin;

async function checkLoginPage(url: string, timeout: number, report: Report): Promise<boolean> {
  let page: Probe;
  try {
    page = await probe(url, timeout);
  } catch (error) {
    report('login page', 'wrong', (error as Error).message);
    return false;
  }
  const type = page.header('content-type').split(';')[0]?.trim().toLowerCase() ?? '';
  const say = (status: Status, problem = ''): boolean => {
    report('login page', status, `answers (HTTP ${page.status})${problem}`);
    return status !== 'wrong';
  };
  if (page.status >= 500) return say('wrong', '; the service is in trouble');
  // A redirect leads to the page where the visitor logs in.
  if (page.status >= 300 && page.status < 400) return say('ok');
  if (!type.includes('html')) {
    return say('wrong', `; not a page, but ${type || 'nothing'}: check the address`);
  }
  if (page.status < 400) return say('ok');
  return say('warning', '; it may not know this app, or want its redirect URL registered');
}

/** Checks that Redis answers, if the app has the package redis. */
async function checkRedis({ redisUrl, timeout }: Settings, report: Report): Promise<void> {
  if (redisUrl === undefined) {
    return report('redis', 'skipped', 'not set up: fine for one process');
  }
  const url = URL.canParse(redisUrl) ? new URL(redisUrl) : undefined;
  if (url === undefined || !/^rediss?:$/.test(url.protocol) || url.hostname === '') {
    return report('redis', 'wrong', 'REDIS_URL must be a redis: or rediss: URL');
  }
  const redis = await import('redis').catch(() => undefined);
  if (redis === undefined) {
    return report('redis', 'skipped', 'install the package redis to check the connection');
  }
  const limit = Math.min(timeout, 3000);
  const client = redis.createClient({
    url: redisUrl,
    socket: { connectTimeout: limit, reconnectStrategy: false },
  });
  try {
    await new Promise((resolve, reject) => {
      client.on('error', reject);
      client
        .connect()
        .then(() => client.ping())
        .then(resolve, reject);
      AbortSignal.timeout(limit).onabort = () => reject(new Error(noAnswer(limit)));
    });
    report('redis', 'ok', `${url.host} answers`);
  } catch (error) {
    report('redis', 'wrong', `${url.host}: ${redisProblem(error)}`);
  } finally {
    client.destroy();
  }
}

const REDIS_REFUSALS: Readonly<Record<string, string>> = {
  NOAUTH: 'it requires a password',
  WRONGPASS: 'it refuses the user name or the password',
  ERR: 'it refuses the user name or the password',
  LOADING: 'it is loading its data; try again in a moment',
};

/** Describes a refusal by its first word only, because the rest can contain the password. */
function redisProblem(error: unknown): string {
  const { message = '', code } = Object(error) as Partial<NodeJS.ErrnoException>;
  if (code !== undefined) return describeNetworkFailure(error);
  const [word = ''] = message.split(' ', 1);
  if (Object.hasOwn(REDIS_REFUSALS, word)) return REDIS_REFUSALS[word] ?? '';
  if (message.startsWith('no answer')) return `it accepts connections, but sends ${message}`;
  return 'its answer is not that of Redis';
}

/**
 * Makes a client and reports its host. Gives `undefined` and reports why, if settings are missing or wrong, or
 * if production would use a sandbox.
 */
async function makeClient<T>(
  check: string,
  url: string,
  settings: Settings,
  report: Report,
  needed: readonly (keyof typeof VARIABLES)[],
  make: () => T & { close(): Promise<void> },
): Promise<T | undefined> {
  const missing = missingSettings(settings, ...needed);
  if (missing !== undefined) {
    report(check, 'wrong', missing);
    return undefined;
  }
  let client: T & { close(): Promise<void> };
  try {
    client = make();
  } catch (error) {
    // The TypeErrors of the clients name the option and hold no secret.
    report(check, 'wrong', (error as Error).message);
    return undefined;
  }
  const { host } = new URL(url);
  if (settings.isProduction && (await isSandbox(url, settings.timeout))) {
    await client.close();
    const advice = 'its keys and codes are public; set the address of the real service';
    report(check, 'wrong', `${host}: a marketgate sandbox, and NODE_ENV is production: ${advice}`);
    return undefined;
  }
  report(check, 'ok', host);
  return client;
}

async function isSandbox(url: string, timeout: number): Promise<boolean> {
  try {
    const { header } = await probe(`${url.replace(/\/+$/, '')}/sandbox/console`, timeout);
    return header(SANDBOX_HEADER) !== '';
  } catch {
    // Later checks report what is wrong with the address.
    return false;
  }
}

/** Reports the result of a call: its text, or the error's message. @returns whether the call succeeded. */
async function reportCall(
  check: string,
  report: Report,
  call: () => Promise<string | undefined>,
): Promise<boolean> {
  try {
    const result = await call();
    if (result !== undefined) report(check, 'ok', result);
    return true;
  } catch (error) {
    if (!isMarketgateError(error)) throw error;
    report(check, 'wrong', error.message);
    return false;
  }
}

const skipper =
  (report: Report) =>
  (...checks: string[]): void => {
    for (const check of checks) report(check, 'skipped', 'see above');
  };
