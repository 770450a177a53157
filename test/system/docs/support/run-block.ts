import { generateKeyPairSync } from 'node:crypto';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createSandbox, type Sandbox, type SandboxCode } from 'marketgate/sandbox';
import { mustRun } from '../../../package/run-program.js';
import { deferred } from '../../../support/deferred.js';
import { codeOf } from '../../../support/shop.js';
import { type RunningExample, start } from '../../examples/run-example.js';
import { ROOT } from './pages.js';

const { privateKey } = generateKeyPairSync('ed25519');

const HOST = join(ROOT, 'test/system/docs/support/host.mjs');

type Variables = Readonly<Record<string, string>>;

/** A running program of a page, and its sandbox. */
export type Running = ReturnType<typeof runningOf>;

/** A sandbox that listens, and all variables that programs need for it. */
async function openSandbox(file: string) {
  const sandbox = createSandbox();
  const { baseUrl, authUrl, apiKey, appId, appSecret } = await sandbox.listen();
  const { workspaces, apps } = sandbox.data;
  const env = {
    MARKETPLACE_BASE_URL: baseUrl,
    MARKETPLACE_API_KEY: apiKey,
    MARKETPLACE_AUTH_URL: authUrl,
    MARKETPLACE_APP_ID: appId,
    MARKETPLACE_APP_SECRET: appSecret,
    SESSION_SECRET: 'not-so-secret-but-of-32-characters',
    COOKIE_SECRET: 'not-so-secret-either-but-long-enough',
    COOKIE_SECRET_NEW: 'another-one-that-is-long-enough-too',
    TOKEN_KEY: Buffer.alloc(32, 7).toString('base64'),
    TOKEN_KEY_NEW: Buffer.alloc(32, 8).toString('base64'),
    HOLDER_SECRET: 'holder-secret-of-at-least-32-characters',
    FILES_SECRET: 'secret-of-files-with-at-least-32-characters',
    STAFF_TOKEN: 'a-token-of-the-staff-with-32-characters',
    STAFF: 'sam,kim',
    RECEIPT_KEY: JSON.stringify(privateKey.export({ format: 'jwk' })),
    API_KEY_FILE: join(dirname(file), 'key.txt'),
    SOUTH_API_KEY: String(workspaces[1]?.api_key),
    PARTNERS_APP_ID: String(apps[1]?.app_id),
    PARTNERS_APP_SECRET: String(apps[1]?.app_secret),
    CDN_ADDRESSES: '198.51.100.0/24',
    FRONT_END: 'http://front-end.example',
    DOCS_EXPRESS: file.endsWith('.cjs') ? 'express4' : 'express',
  };
  return { sandbox, env };
}

/** Runs a program against a new sandbox during `check`, in the process of the host. */
export async function runBlock(
  file: string,
  own: Variables,
  check: (running: Running) => Promise<void>,
): Promise<void> {
  const { sandbox, env } = await openSandbox(file);
  const program = startHosted(file, { ...env, ...own });
  try {
    await check(runningOf(program, sandbox, { ...env, ...own }, file));
  } finally {
    program.stop();
    await sandbox.close();
  }
}

/** Runs tests for node:test against a new sandbox, in a process of their own. Returns their report. */
export async function runNodeTests(file: string): Promise<string> {
  const { sandbox, env } = await openSandbox(file);
  const args = ['--test-reporter', 'tap', file];
  try {
    return await mustRun(process.execPath, args, { cwd: dirname(file), env, timeout: 290_000 });
  } finally {
    await sandbox.close();
  }
}

let host: RunningExample | undefined;
let programs = 0;

function startHosted(file: string, env: Variables) {
  host ??= start([HOST], dirname(HOST), {});
  const { child, ended, all } = host;
  const id = ++programs;
  const before = all().length;
  const output = () => all().slice(before);
  const port = deferred<number>();
  const printed = deferred<string>();
  type Message = { id: number; port?: number; printed?: string; failed?: unknown };
  const hear = (message: Message): void => {
    // The program before can have begun to listen when its test was over.
    if (message.id !== id) return;
    if (message.port !== undefined) port.resolve(message.port);
    if (message.printed !== undefined) printed.resolve(message.printed);
    if (!('failed' in message)) return;
    const error = new Error(`it failed: ${message.failed}\n${output()}`);
    for (const { promise, reject } of [port, printed]) {
      // Not every check waits for both.
      promise.catch(() => {});
      reject(error);
    }
  };
  child.on('message', hear);
  ended.then((code) => hear({ id, failed: `the host ended with ${code}` }));
  const { PATH, HOME } = process.env;
  child.send({ id, file: pathToFileURL(file).href, env: { PATH, HOME, ...env } });
  return {
    port: port.promise,
    printed: printed.promise,
    output,
    stop: () => child.off('message', hear).send({}),
  };
}

/** Ends the process of the host. */
export async function endHost(): Promise<void> {
  host?.child.kill('SIGKILL');
  await host?.ended;
  host = undefined;
}

function runningOf(
  { port, printed, output }: ReturnType<typeof startHosted>,
  sandbox: Sandbox,
  env: Variables & Awaited<ReturnType<typeof openSandbox>>['env'],
  file: string,
) {
  /** Where the program listens; rejects when it fails before. */
  const origin = async (): Promise<string> => {
    const url = `http://127.0.0.1:${await port}`;
    sandbox.redirectUrl = `${url}/callback`;
    return url;
  };
  return {
    sandbox,
    env,
    file,
    origin,
    output,
    /** All that a program has printed that runs to its end. */
    printed: () => printed,
    async get(path: string, headers: Record<string, string> = {}): Promise<Response> {
      return fetch(`${await origin()}${path}`, { headers, redirect: 'manual' });
    },
    code: (kind: SandboxCode['kind']) => codeOf(sandbox, kind),
  };
}
