import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createSandbox, type Sandbox, type SandboxCode } from 'marketgate/sandbox';
import { mustRun } from '../../../package/run-program.js';
import { deferred } from '../../../support/deferred.js';
import { codeOf } from '../../../support/shop.js';
import { type RunningExample, start } from '../../examples/run-example.js';
import { ROOT } from './pages.js';

const HOST = join(ROOT, 'test/system/docs/support/host.mjs');

export type Variables = Readonly<Record<string, string>>;

/** The variables of a program besides those of every program, for a sandbox with this data. */
export type OwnVariables = (data: Sandbox['data']) => Variables | Promise<Variables>;

/** A running program of a page, and its sandbox. */
export type Running = ReturnType<typeof runningOf>;

/** A sandbox that listens, and what a program needs for it. */
async function openSandbox() {
  const sandbox = createSandbox();
  const { baseUrl, authUrl, apiKey, appId, appSecret } = await sandbox.listen();
  const env = {
    MARKETPLACE_BASE_URL: baseUrl,
    MARKETPLACE_API_KEY: apiKey,
    MARKETPLACE_AUTH_URL: authUrl,
    MARKETPLACE_APP_ID: appId,
    MARKETPLACE_APP_SECRET: appSecret,
    SESSION_SECRET: 'not-so-secret-but-of-32-characters',
    COOKIE_SECRET: 'not-so-secret-either-but-long-enough',
    TOKEN_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
  return { sandbox, env };
}

/** Runs a program against a new sandbox during `check`, in the process of the host. */
export async function runBlock(
  file: string,
  own: OwnVariables,
  check: (running: Running) => Promise<void>,
): Promise<void> {
  const { sandbox, env } = await openSandbox();
  const all = { ...env, ...(await own(sandbox.data)) };
  const program = startHosted(file, all);
  try {
    await check(runningOf(program, sandbox, all, file));
  } finally {
    program.stop();
    await sandbox.close();
  }
}

/** Runs tests for node:test against a new sandbox, in a process of their own. Returns their report. */
export async function runNodeTests(file: string, flags: readonly string[]): Promise<string> {
  const { sandbox, env } = await openSandbox();
  const args = [...flags, '--test-reporter', 'tap', file];
  try {
    return await mustRun(process.execPath, args, { cwd: dirname(file), env, timeout: 290_000 });
  } finally {
    await sandbox.close();
  }
}

let host: RunningExample | undefined;

function startHosted(file: string, env: Variables) {
  host ??= start([HOST], dirname(HOST), {});
  const { child, ended, all } = host;
  const before = all().length;
  const output = () => all().slice(before);
  const port = deferred<number>();
  const printed = deferred<string>();
  const hear = (message: { port?: number; printed?: string; failed?: unknown }): void => {
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
  ended.then((code) => hear({ failed: `the host ended with ${code}` }));
  const { PATH, HOME } = process.env;
  child.send({ file: pathToFileURL(file).href, env: { PATH, HOME, ...env } });
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
  env: Variables,
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
