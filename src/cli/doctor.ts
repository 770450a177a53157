import { styleText } from 'node:util';
import { KeyApi } from '../clients/key-api.js';
import { LoginApi } from '../clients/login-api.js';
import { isMarketgateError } from '../errors.js';
import { SANDBOX_HEADER } from '../sandbox/console/guard.js';
import { CommandError, type Io, printable, printableJson } from './io.js';
import { problemOf } from './running-sandbox.js';
import { inVariables, required, type Settings, VARIABLES } from './settings.js';

type Client = KeyApi | LoginApi;

/**
 * `warning`: it works, but needs attention. `unknown`: the service could not answer, which says nothing about the
 * setting. `skipped`: it is not set up, or an earlier check has no result.
 */
type Status = 'ok' | 'warning' | 'wrong' | 'unknown' | 'skipped';
type Finding = readonly [Status, detail: string];

/** Checks by name, in order. What makes the following ones pointless is `unknown`, or thrown. */
type Checks = Record<string, () => Finding | Promise<Finding>>;

const COLORS = {
  ok: 'green',
  warning: 'yellow',
  wrong: 'red',
  unknown: 'magenta',
  skipped: 'dim',
} as const;

/** The errors by which the service rejects a setting. The others do not say whether it is right. */
const REJECTIONS = ['api_key_rejected', 'app_credentials_rejected'];

/**
 * `marketgate doctor`: checks the settings, the key API, the login API and Redis, in that order.
 * @returns the exit code: 1 when something is wrong or unknown, else 0.
 */
export async function doctor(settings: Settings, json: boolean, io: Io): Promise<number> {
  const findings: { check: string; status: Status; detail: string }[] = [];
  const report = (check: string, status: Status, text: string): void => {
    const detail = printable(text);
    findings.push({ check, status, detail });
    const name = check.padEnd('login reachable'.length);
    if (!json)
      io.out(`${styleText(COLORS[status], status.padEnd('warning'.length))}  ${name}  ${detail}`);
  };

  if (settings.file !== undefined) report('settings', 'ok', `read from ${settings.file}`);
  const clients: Client[] = [];
  try {
    for (const checksOf of [keyApiChecks, loginChecks, redisChecks]) {
      await run(checksOf(settings, clients), report);
    }
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
  const isOk = findings.every(({ status }) => status !== 'wrong' && status !== 'unknown');
  if (json) io.out(printableJson({ ok: isOk, findings }));
  return isOk ? 0 : 1;
}

/** Runs checks until one fails or has no result, which makes the others pointless. */
async function run(checks: Checks, report: (check: string, ...found: Finding) => void) {
  let isStopped = false;
  for (const [name, check] of Object.entries(checks)) {
    try {
      const found: Finding = isStopped ? ['skipped', 'see above'] : await check();
      report(name, ...found);
      isStopped ||= found[0] === 'unknown';
    } catch (error) {
      // The TypeErrors of the clients name an option. None of these messages holds a secret.
      const isExpected = error instanceof CommandError || error instanceof TypeError;
      if (!(isExpected || isMarketgateError(error))) throw error;
      const isUnknown = isMarketgateError(error) && !REJECTIONS.includes(error.code);
      report(name, isUnknown ? 'unknown' : 'wrong', inVariables(error.message));
      isStopped = true;
    }
  }
}

/** The key API: its address, the connection, the key, the items. */
function keyApiChecks(settings: Settings, clients: Client[]): Checks {
  const { allowInsecure, timeout } = settings;
  let keyApi: KeyApi;
  return {
    'key API': () => {
      const { baseUrl, apiKey } = required(settings, 'baseUrl', 'apiKey');
      keyApi = new KeyApi({ baseUrl, apiKey, allowInsecure, timeout, cache: false, retries: 0 });
      clients.push(keyApi);
      return addressOf(baseUrl, settings);
    },
    ...connectionChecks('baseUrl', settings),
    api_key: async () => {
      const { username, name } = await keyApi.getAccount();
      return ['ok', `accepted; the account of ${name.full_name || username}`];
    },
    items: async () => {
      const { length } = await keyApi.listItems();
      return ['ok', `readable; ${length || 'the service says there are none'}`];
    },
  };
}

/** The head of a page. Follows no redirect, and reads no body, which can be endless. */
async function requestHead(url: string, timeout: number): Promise<Response> {
  try {
    const signal = AbortSignal.timeout(timeout);
    const response = await fetch(url, { redirect: 'manual', signal });
    await response.body?.cancel();
    return response;
  } catch (error) {
    throw new CommandError(problemOf(error as Error));
  }
}

/** In milliseconds. A larger difference makes support dates and token lifetimes visibly wrong. */
const MAX_SKEW = 60_000;

/** Checks the connection to a service: that it answers, with a certificate that is trusted, and the clock. */
function connectionChecks(setting: 'baseUrl' | 'authUrl', settings: Settings): Checks {
  const { [setting]: url = '', timeout } = settings;
  const prefix = setting === 'authUrl' ? 'login ' : '';
  let head: Response;
  return {
    [`${prefix}reachable`]: async () => {
      head = await requestHead(url, timeout).catch(({ message }: Error) => {
        const advice = `check ${VARIABLES[setting]}, the network and the firewall`;
        const trust = 'NODE_EXTRA_CA_CERTS can name a file with more certificates to trust';
        throw new CommandError(`${message}; ${/certificate/i.test(message) ? trust : advice}`);
      });
      return ['ok', `answers (HTTP ${head.status})`];
    },
    [`${prefix}clock`]: () => {
      const skew = Date.parse(head.headers.get('date') ?? '') - Date.now();
      if (Number.isNaN(skew)) return ['skipped', 'the service sends no Date header'];
      if (Math.abs(skew) < MAX_SKEW) return ['ok', 'agrees with the service'];
      const seconds = Math.round(Math.abs(skew) / 1000);
      const way = skew > 0 ? 'behind' : 'ahead of';
      return ['wrong', `this machine is ${seconds} s ${way} the service; set its clock`];
    },
  };
}

/** The host of a service, which in production must be no sandbox. */
async function addressOf(url: string, settings: Settings): Promise<Finding> {
  const { host } = new URL(url);
  if (!settings.isProduction) return ['ok', host];
  const page = `${url.replace(/\/+$/, '')}/sandbox/console`;
  // Later checks report what is wrong with the address.
  const answer = await requestHead(page, settings.timeout).catch(() => undefined);
  if (!answer?.headers.has(SANDBOX_HEADER)) return ['ok', host];
  const advice = 'its keys and codes are public; set the address of the real service';
  throw new CommandError(`${host}: a marketgate sandbox, and NODE_ENV is production: ${advice}`);
}

/** The login API: its address, the connection, the login page, the app. */
function loginChecks(settings: Settings, clients: Client[]): Checks {
  const { authUrl: url, allowInsecure, timeout } = settings;
  if (!(url || settings.appId || settings.appSecret)) {
    return { login: () => ['skipped', 'not set up: fine for a site without login'] };
  }
  let loginApi: LoginApi;
  return {
    login: () => {
      const { authUrl, appId, appSecret } = required(settings, 'authUrl', 'appId', 'appSecret');
      loginApi = new LoginApi({ authUrl, appId, appSecret, allowInsecure, timeout, retries: 0 });
      clients.push(loginApi);
      return addressOf(authUrl, settings);
    },
    ...(url !== settings.baseUrl && connectionChecks('authUrl', settings)),
    'login page': async () => {
      const page = await requestHead(loginApi.loginUrl(), timeout).catch((error: Error) => error);
      if (page instanceof Error) return ['unknown', page.message];
      const { status, headers } = page;
      const said = `answers (HTTP ${status})`;
      if (status >= 500) return ['unknown', `${said}; the service is in trouble`];
      // A redirect leads to the page where the visitor logs in.
      const isRedirect = status >= 300 && status < 400;
      if (!isRedirect && !headers.get('content-type')?.includes('html')) {
        throw new CommandError(`${said}, but not with a page: check ${VARIABLES.authUrl}`);
      }
      if (status < 400) return ['ok', said];
      return ['warning', `${said}; it may not know this app, or want its redirect URL registered`];
    },
    app: async () => {
      // No service has issued this auth_key. The refusal shows whether the service knows the app.
      const error = await loginApi.exchange('marketgate-doctor').catch((reason: unknown) => reason);
      if (!(error instanceof Error)) {
        const problem = 'the service accepts a made-up auth_key';
        throw new CommandError(`${problem}; check ${VARIABLES.authUrl}`);
      }
      if (isMarketgateError(error) && error.code === 'auth_key_rejected') return ['ok', 'known'];
      throw error;
    },
  };
}

/** Redis answers, if the app has the package redis. */
const redisChecks = ({ redisUrl, timeout }: Settings): Checks => ({
  redis: async () => {
    if (redisUrl === undefined) return ['skipped', 'not set up: fine for one process'];
    const host = URL.canParse(redisUrl) && new URL(redisUrl).host;
    if (!host || !/^rediss?:/.test(redisUrl)) {
      throw new CommandError(`${VARIABLES.redisUrl} must be a redis: or rediss: URL`);
    }
    let redis: typeof import('redis');
    try {
      redis = await import('redis');
    } catch {
      return ['skipped', 'install the package redis to check the connection'];
    }
    const limit = Math.min(timeout, 3000);
    let client: ReturnType<typeof redis.createClient> | undefined;
    try {
      client = redis.createClient({
        url: redisUrl,
        socket: { connectTimeout: limit, socketTimeout: limit, reconnectStrategy: false },
      });
      client.on('error', () => undefined);
      await client.connect();
      await client.ping();
      return ['ok', `${host} answers`];
    } catch (error) {
      // The message of Redis begins with a code; the rest can contain the password.
      const { message = '', code } = error as NodeJS.ErrnoException;
      const [said = ''] = /^[A-Z]{3,}\b/.exec(message) ?? [];
      const refusal = said && !code ? `Redis refuses with ${said}` : problemOf(error as Error);
      throw new CommandError(`${host}: ${refusal}; check ${VARIABLES.redisUrl}`);
    } finally {
      // node-redis 4 has only `disconnect`.
      if (client?.isOpen) await (client.destroy ? client.destroy() : client.disconnect());
    }
  },
});
