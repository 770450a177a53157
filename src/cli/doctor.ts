import { styleText } from 'node:util';
import { MAX_CALL } from '../cache/shared-tier.js';
import { CLIENT_OPTIONS } from '../clients/client-options.js';
import { KeyApi } from '../clients/key-api.js';
import { accountDetails } from '../clients/key-endpoints.js';
import { GET_USER_INFO, LoginApi } from '../clients/login-api.js';
import { isMarketgateError } from '../errors.js';
import { Failure } from '../http/failure.js';
import type { WireResponse } from '../http/senders.js';
import { clientSettings } from '../http/settings.js';
import { Transport } from '../http/transport.js';
import { readOptions } from '../options.js';
import { SANDBOX_HEADER } from '../sandbox/actions.js';
import { TRIED, tryRedis } from '../stores/redis/try-redis.js';
import { CommandError, type Io, markProblem, printable, printableJson, table } from './io.js';
import { problemOf } from './running-sandbox.js';
import { inVariables, required, type Settings, VARIABLES } from './settings.js';

/** `unknown`: the service could not answer, which says nothing about the setting. */
const COLORS = { ok: 'green', wrong: 'red', unknown: 'magenta', skipped: 'dim' } as const;
type Status = keyof typeof COLORS;

/** Checks by name. Each gives what it found, or throws what is wrong. */
type Checks = Record<string, () => string | Promise<string>>;

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
    const line = table([[status.padEnd(7), check.padEnd(8), detail]], io.columns);
    if (!json) io.out(styleText(COLORS[status], line.slice(0, 7)) + line.slice(7));
  };
  /** Runs checks in their order. One that fails makes the following ones pointless. */
  const run = async (checks: Checks): Promise<void> => {
    let isStopped = false;
    for (const [name, check] of Object.entries(checks)) {
      try {
        if (isStopped) report(name, 'skipped', 'see above');
        else report(name, 'ok', await check());
      } catch (error) {
        // The TypeErrors of the clients name an option. None of these messages holds a secret.
        const isExpected = error instanceof CommandError || error instanceof TypeError;
        if (!(isExpected || isMarketgateError(error))) throw error;
        const isUnknown = isMarketgateError(error) && !REJECTIONS.includes(error.code);
        report(name, isUnknown ? 'unknown' : 'wrong', inVariables(error.message));
        isStopped = true;
      }
    }
  };

  const { file, fromEnvironment } = settings;
  if (file !== undefined) {
    const mark = markProblem(file);
    const others = fromEnvironment.join(', ');
    const first = others && `; from the environment, which comes first: ${others}`;
    report('settings', 'ok', `read from ${file}${mark ? `, which ${mark}` : ''}${first}`);
  }
  if (settings.unread !== undefined) report('settings', 'skipped', settings.unread);
  await run(keyApiChecks(settings));
  const { authUrl, appId, appSecret, redisUrl } = settings;
  if (authUrl || appId || appSecret) await run(loginChecks(settings));
  else report('login', 'skipped', 'not set up: fine for a site without login');
  if (!redisUrl) report('redis', 'skipped', 'not set up: fine for one process');
  else if ((await loadRedis()) === undefined) {
    report('redis', 'skipped', 'only the package redis could ask it, which is not installed');
  } else await run({ redis: () => checkRedis(redisUrl, settings.timeout) });

  const isOk = findings.every(({ status }) => status === 'ok' || status === 'skipped');
  if (json) io.out(printableJson({ ok: isOk, findings }));
  return isOk ? 0 : 1;
}

function keyApiChecks(settings: Settings): Checks {
  const { allowInsecure, timeout } = settings;
  const ask = async <T>(call: (keyApi: KeyApi) => Promise<T>): Promise<T> => {
    const { baseUrl, apiKey } = required(settings, 'baseUrl', 'apiKey');
    const options = { baseUrl, apiKey, allowInsecure, timeout, cache: false, retries: 0 } as const;
    const keyApi = new KeyApi(options);
    return call(keyApi).finally(() => keyApi.close());
  };
  return {
    'key API': () => ask(() => checkAddress('baseUrl', settings)),
    api_key: async () => {
      const { username, name } = await ask((keyApi) => keyApi.getAccount());
      return `accepted; the account of ${name.full_name || username}`;
    },
    items: async () => {
      const { length } = await ask((keyApi) => keyApi.listItems());
      return `readable; ${length || 'the service says there are none'}`;
    },
  };
}

function loginChecks(settings: Settings): Checks {
  const { allowInsecure, timeout } = settings;
  const ask = async <T>(call: (loginApi: LoginApi) => Promise<T>): Promise<T> => {
    const { authUrl, appId, appSecret } = required(settings, 'authUrl', 'appId', 'appSecret');
    const loginApi = new LoginApi({
      authUrl,
      appId,
      appSecret,
      allowInsecure,
      timeout,
      retries: 0,
    });
    return call(loginApi).finally(() => loginApi.close());
  };
  return {
    login: () => ask(() => checkAddress('authUrl', settings)),
    app: async () => {
      // No service has issued this auth_key. The refusal shows whether the service knows the app.
      const refusal = await ask((loginApi) => loginApi.exchange('marketgate-doctor')).catch(
        (error: Error) => error,
      );
      if (isMarketgateError(refusal) && refusal.code === 'auth_key_rejected') return KNOWN_APP;
      if (refusal instanceof Error) throw refusal;
      throw new CommandError(`a made-up auth_key is accepted; check ${VARIABLES.authUrl}`);
    },
  };
}

/** The service does not show which redirect URL an app has. */
const KNOWN_APP =
  'known; the redirect URL to register with it is the full address of your callback, without a query, as in https://your-site.example/callback';

/** An endpoint of each address, which answers in JSON without a secret too. */
const ENDPOINTS = { baseUrl: accountDetails.path, authUrl: GET_USER_INFO } as const;

/** In milliseconds. A larger difference makes support dates and token lifetimes visibly wrong. */
const MAX_SKEW = 60_000;

/** That something answers there, with a certificate that is trusted, which in production is no sandbox; and its clock. */
async function checkAddress(setting: 'baseUrl' | 'authUrl', settings: Settings): Promise<string> {
  const { [setting]: url = '', timeout, isProduction } = settings;
  const { host } = new URL(url);
  // Through the same connections as the clients, so that it meets the same proxies, and what fails has the same words.
  const { allowInsecure } = settings;
  const given = readOptions('doctor', CLIENT_OPTIONS, { allowInsecure });
  const options = clientSettings('doctor', setting, new URL(url), given);
  const transport = new Transport(options);
  const ask = (path: string) => transport.reach(path, AbortSignal.timeout(timeout));
  try {
    const head = await ask('').catch((error: Error) => {
      const known = error instanceof Failure ? error.advice : undefined;
      const advice = known ?? `check ${VARIABLES[setting]}, the network and the firewall`;
      throw new CommandError(`${problemOf(error)}; ${advice}`);
    });
    checkHead(host, head, isProduction);
    // What else can happen there is for the checks that follow.
    const found = await ask(ENDPOINTS[setting]).catch(() => undefined);
    if (found?.status === 404) {
      const advice = /\/api\/*$/.test(url)
        ? `leave out the /api at the end of ${VARIABLES[setting]}, which is added to it`
        : `check ${VARIABLES[setting]}, and whether the marketplace has its API turned on`;
      throw new CommandError(`${host} has no ${ENDPOINTS[setting]} there (HTTP 404); ${advice}`);
    }
    return `${host} answers`;
  } finally {
    // The bodies were not read, and can be endless.
    await transport.close();
  }
}

/** That it is no sandbox in production, and that its clock and this one agree. */
function checkHead(host: string, head: Pick<WireResponse, 'header'>, isProduction: boolean): void {
  if (isProduction && head.header(SANDBOX_HEADER) !== undefined) {
    const advice = 'its keys and codes are public; set the address of the real service';
    throw new CommandError(`${host}: a marketgate sandbox, and NODE_ENV is production: ${advice}`);
  }
  const skew = Date.parse(head.header('date') ?? '') - Date.now();
  if (Math.abs(skew) > MAX_SKEW) {
    const way = skew > 0 ? 'behind' : 'ahead of';
    const seconds = Math.round(Math.abs(skew) / 1000);
    throw new CommandError(`this machine is ${seconds} s ${way} ${host}; set its clock`);
  }
}

/** The package redis, which apps with another client lack. */
const loadRedis = () => import('redis').catch(() => undefined);

/** Milliseconds that Redis takes to answer. */
async function timeOf(client: { ping(): Promise<unknown> }): Promise<number> {
  const begun = performance.now();
  await client.ping();
  return performance.now() - begun;
}

const NO_REDIS_URL = `${VARIABLES.redisUrl} must be a redis: or rediss: URL, in which a password is percent-encoded: # is %23, % is %25`;

const REDIS_GUIDE =
  'the guide "Redis, and a fleet of processes" (node_modules/marketgate/examples/guides/redis.md)';

/** What to do where Redis refuses commands, by what it says. */
function adviceOn(refused: string): string {
  if (refused.includes('READONLY'))
    return `it is a replica: set ${VARIABLES.redisUrl} to its primary`;
  if (refused.includes('NOPERM')) return `give its user what ${REDIS_GUIDE} lists`;
  return 'look at its settings';
}

/** Redis answers soon enough, and does what the stores ask of it. */
async function checkRedis(url: string, timeout: number): Promise<string> {
  const host = URL.canParse(url) && new URL(url).host;
  if (!host || !/^rediss?:/.test(url)) {
    throw new CommandError(NO_REDIS_URL);
  }
  const limit = Math.min(timeout, 3000);
  const socket = { connectTimeout: limit, socketTimeout: limit, reconnectStrategy: false } as const;
  const opened: { isOpen: boolean; destroy?(): unknown; disconnect(): unknown }[] = [];
  try {
    const { createClient } = await import('redis');
    const open = async () => {
      const client = createClient({ url, socket }).on('error', () => undefined);
      opened.push(client);
      await client.connect();
      return client;
    };
    const [client, subscriber] = [await open(), await open()];
    // The first can be slow by chance.
    const times = [await timeOf(client), await timeOf(client), await timeOf(client)];
    const refused = await tryRedis(client, subscriber);
    // A user can be limited to the prefix that the app gives its stores.
    const tried = `tried with names that begin with ${TRIED}`;
    if (refused.length > 0) {
      const list = refused.join(', ');
      throw new CommandError(`${host}: it refuses ${list}, ${tried}; ${adviceOn(list)}`);
    }
    const fastest = Math.round(Math.min(...times));
    if (fastest > MAX_CALL) {
      const problem = `from here it takes ${fastest} ms to answer a PING, and the cache goes on without it after ${MAX_CALL} ms`;
      throw new CommandError(`${host}: ${problem}; choose a Redis near the app`);
    }
    return `${host} answers; one script and one channel work, ${tried}`;
  } catch (error) {
    if (error instanceof CommandError) throw error;
    // The message of Redis begins with a code; the rest can contain the password.
    const { message, code, name, constructor: kind } = error as NodeJS.ErrnoException;
    // It begins with a code in capitals, too: "URI malformed".
    if (name === 'URIError') throw new CommandError(NO_REDIS_URL);
    const [said = ''] = /^[A-Z]{3,}\b/.exec(message) ?? [];
    // The classes of redis for what took too long have no name and no code.
    const problem = /Timeout/.test(kind.name) ? 'no answer in time' : problemOf(error as Error);
    const refusal = said && !code ? `Redis refuses with ${said}` : problem;
    throw new CommandError(`${host}: ${refusal}; check ${VARIABLES.redisUrl}`);
  } finally {
    for (const client of opened) {
      // node-redis 4 has only `disconnect`.
      if (client.isOpen) await (client.destroy ? client.destroy() : client.disconnect());
    }
  }
}
