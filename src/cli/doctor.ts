import { styleText } from 'node:util';
import { KeyApi } from '../clients/key-api.js';
import { LoginApi } from '../clients/login-api.js';
import { isMarketgateError, type MarketgateError } from '../errors.js';
import { isLoopback } from '../http/client-options.js';
import { NetworkFailure } from '../http/failure.js';
import { SANDBOX_HEADER } from '../sandbox/console/guard.js';
import { noAnswer, type ResponseHead, requestHead, UntrustedCertificate } from './connection.js';
import { CommandError, type Io, printable, printableJson } from './io.js';
import { inVariables, required, type Settings, VARIABLES } from './settings.js';

type Client = KeyApi | LoginApi;

/**
 * `warning`: it works, but needs attention. `unknown`: the service could not answer, which says nothing about the
 * setting. `skipped`: it is not set up, or an earlier check has no result.
 */
type Status = 'ok' | 'warning' | 'wrong' | 'unknown' | 'skipped';

/** Checks by name, in order. What makes the following ones pointless is `unknown`, or thrown. */
type Checks = Record<string, () => Finding | Promise<Finding>>;
type Finding = readonly [Status, detail: string];

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
    const name = check.padEnd('login certificate'.length);
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
    ...connectionChecks('baseUrl', settings.baseUrl ?? '', timeout),
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

/** In milliseconds. A larger difference makes support dates and token lifetimes visibly wrong. */
const MAX_SKEW = 60_000;
const DAY = 86_400_000;
/** How long before its end a certificate should be renewed. Automatic renewal is usually earlier. */
const RENEWAL_PERIOD = 14 * DAY;

/**
 * Checks the connection to a service: that it answers, https, the certificate, and the clock.
 * @param setting the one that holds its address.
 */
export function connectionChecks(
  setting: 'baseUrl' | 'authUrl',
  url: string,
  timeout: number,
): Checks {
  const prefix = setting === 'authUrl' ? 'login ' : '';
  let head: ResponseHead;
  let untrusted: UntrustedCertificate | undefined;
  return {
    [`${prefix}reachable`]: async () => {
      try {
        head = await requestHead(url, timeout);
        return ['ok', `answers (HTTP ${head.status})`];
      } catch (error) {
        const { message } = error as Error;
        if (!(error instanceof UntrustedCertificate)) {
          throw new CommandError(
            `${message}; check ${VARIABLES[setting]}, the network and the firewall`,
          );
        }
        untrusted = error;
        return ['ok', 'accepts connections'];
      }
    },
    [`${prefix}https`]: () => {
      if (url.startsWith('https:')) return ['ok', 'requests are encrypted'];
      return isLoopback(new URL(url).hostname)
        ? ['skipped', 'plain http that stays on this machine']
        : ['warning', 'plain http: the secrets can be read on the way'];
    },
    [`${prefix}certificate`]: () => {
      const advice = 'NODE_EXTRA_CA_CERTS can name a file with more certificates to trust';
      if (untrusted) throw new CommandError(`${untrusted.message}; ${advice}`);
      const { certificate } = head;
      if (!certificate) return ['skipped', 'there is none without https'];
      const validTo = Date.parse(certificate.valid_to);
      const issuer = certificate.issuer.O ?? certificate.issuer.CN;
      const left = validTo - Date.now();
      const day = new Date(validTo).toISOString().slice(0, 10);
      const until = `valid until ${day} (${Math.floor(left / DAY)} days), by ${issuer}`;
      if (left >= RENEWAL_PERIOD) return ['ok', until];
      return ['warning', `${until}; it must be renewed soon`];
    },
    [`${prefix}clock`]: () => {
      const skew = Date.parse(head.headers.date ?? '') - Date.now();
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
  if (answer?.headers[SANDBOX_HEADER] === undefined) return ['ok', host];
  const advice = 'its keys and codes are public; set the address of the real service';
  throw new CommandError(`${host}: a marketgate sandbox, and NODE_ENV is production: ${advice}`);
}

const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : '');

/** The login API: its address, the connection if its origin is another one, the login page, the app. */
function loginChecks(settings: Settings, clients: Client[]): Checks {
  const { authUrl: url = '', allowInsecure, timeout } = settings;
  if (!(url || settings.appId || settings.appSecret)) {
    return { login: () => ['skipped', 'not set up: fine for a site without login'] };
  }
  const isElsewhere = originOf(url) !== originOf(settings.baseUrl ?? '');
  let loginApi: LoginApi;
  let byGet: LoginApi;
  return {
    login: () => {
      const { authUrl, appId, appSecret } = required(settings, 'authUrl', 'appId', 'appSecret');
      const options = { authUrl, appId, appSecret, allowInsecure, timeout, retries: 0 };
      loginApi = new LoginApi(options);
      byGet = new LoginApi({ ...options, authorizeMethod: 'get' });
      clients.push(loginApi, byGet);
      return addressOf(authUrl, settings);
    },
    ...(isElsewhere && connectionChecks('authUrl', url, timeout)),
    'login page': async () => {
      const page = await requestHead(loginApi.loginUrl(), timeout).catch((error: Error) => error);
      if (page instanceof Error) return ['unknown', page.message];
      const said = `answers (HTTP ${page.status})`;
      if (page.status >= 500) return ['unknown', `${said}; the service is in trouble`];
      // A redirect leads to the page where the visitor logs in.
      if (page.status >= 300 && page.status < 400) return ['ok', said];
      const type = page.headers['content-type']?.split(';')[0] ?? 'nothing';
      if (!type.includes('html')) {
        throw new CommandError(`${said}; not a page, but ${type}: check ${VARIABLES.authUrl}`);
      }
      if (page.status < 400) return ['ok', said];
      return ['warning', `${said}; it may not know this app, or want its redirect URL registered`];
    },
    app: async () => {
      const error = await refusalBy(loginApi);
      if (isMarketgateError(error) && error.code === 'auth_key_rejected') return ['ok', 'known'];
      if (isMarketgateError(error) && error.code === 'app_credentials_rejected') {
        // An older deployment finds no app_id in a POST. Others refuse the GET, but not for its auth_key.
        const { code, message = '' } = Object(await refusalBy(byGet)) as Partial<MarketgateError>;
        if (code === 'auth_key_rejected' && /: ".*\bauth_?key\b.*"/i.test(message)) {
          return ['warning', "known only by GET: give LoginApi the option authorizeMethod: 'get'"];
        }
      }
      throw (
        error ??
        new CommandError(`the service accepts a made-up auth_key; check ${VARIABLES.authUrl}`)
      );
    },
  };
}

/** Exchanges an auth_key that no service has issued. The refusal shows whether the service knows the app. */
const refusalBy = (loginApi: LoginApi): Promise<unknown> =>
  loginApi.exchange('marketgate-doctor').then(
    () => undefined,
    (reason: unknown) => reason,
  );

/** The host of a URL that node-redis accepts; `undefined` for any other. */
function redisHost(text: string): string | undefined {
  try {
    const { protocol, host, pathname, username, password } = new URL(text);
    decodeURIComponent(username + password);
    return /^rediss?:$/.test(protocol) && /^\/?\d*$/.test(pathname) ? host || undefined : undefined;
  } catch {
    return undefined;
  }
}

/** Redis answers, if the app has the package redis. */
const redisChecks = ({ redisUrl, timeout }: Settings): Checks => ({
  redis: async () => {
    if (redisUrl === undefined) return ['skipped', 'not set up: fine for one process'];
    const host = redisHost(redisUrl);
    if (host === undefined) {
      throw new CommandError(
        'REDIS_URL must be a redis: or rediss: URL as in redis://user:password@host:6379/0, with "%" in its user name or password written as "%25"',
      );
    }
    const redis = await import('redis').catch(() => undefined);
    if (redis === undefined) {
      return ['skipped', 'install the package redis to check the connection'];
    }
    const limit = Math.min(timeout, 3000);
    const client = redis.createClient({
      url: redisUrl,
      socket: { connectTimeout: limit, reconnectStrategy: false },
    });
    try {
      await new Promise((resolve, reject) => {
        client.on('error', reject);
        const asked = client.connect().then(() => client.ping());
        asked.then(resolve, reject);
        AbortSignal.timeout(limit).onabort = () => reject(new Error(noAnswer(limit)));
      });
      return ['ok', `${host} answers`];
    } catch (error) {
      throw new CommandError(`${host}: ${redisProblem(error)}`);
    } finally {
      // node-redis 4 has only `disconnect`.
      if (client.isOpen) await (client.destroy ? client.destroy() : client.disconnect());
    }
  },
});

const REDIS_REFUSALS: Readonly<Record<string, string>> = {
  NOAUTH: 'it requires a password',
  WRONGPASS: 'it refuses the user name or the password',
  ERR: 'it refuses the user name, the password or the number of the database',
  LOADING: 'it is loading its data; try again in a moment',
};

/** Describes a refusal by its first word only, because the rest can contain the password. */
function redisProblem(error: unknown): string {
  const { message = '', code } = Object(error) as Partial<NodeJS.ErrnoException>;
  if (code !== undefined) return new NetworkFailure(error).message;
  if (message.startsWith('no answer')) return `it accepts connections, but sends ${message}`;
  return REDIS_REFUSALS[message.split(' ', 1)[0] ?? ''] ?? 'its answer is not that of Redis';
}
