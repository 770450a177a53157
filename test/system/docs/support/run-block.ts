import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { createSandbox, type Sandbox, type SandboxCode } from 'marketgate/sandbox';
import { codeOf } from '../../../support/shop.js';
import { ROOT } from './pages.js';

/** Puts a program on a free port. */
export const PRELOAD = join(ROOT, 'test/system/docs/support/preload.cjs');

/** A running program of a page, and its sandbox; `file` is what runs. */
export type Running = ReturnType<typeof runningOf> & { readonly file: string };

/** How a program is run, with the variables of the sandbox. */
export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Variables with values of the sandbox's data. */
  readonly seeded?: (data: Sandbox['data']) => Record<string, string>;
  readonly args?: readonly string[];
}

/** Lets a sandbox listen, and gives its variables, as `--save-env` writes them. */
export async function variablesOf(sandbox: Sandbox): Promise<Record<string, string>> {
  const { baseUrl, authUrl, apiKey, appId, appSecret } = await sandbox.listen();
  return {
    MARKETPLACE_BASE_URL: baseUrl,
    MARKETPLACE_API_KEY: apiKey,
    MARKETPLACE_AUTH_URL: authUrl,
    MARKETPLACE_APP_ID: appId,
    MARKETPLACE_APP_SECRET: appSecret,
  };
}

/** Runs a file against a new sandbox during `check`. */
export async function runBlock(
  file: string,
  { env: given = {}, seeded, args = [] }: RunOptions,
  check: (running: Running) => Promise<void>,
): Promise<void> {
  const sandbox = createSandbox();
  const env = { ...given, ...seeded?.(sandbox.data) };
  const variables = await variablesOf(sandbox);
  const child = spawn(process.execPath, ['--require', PRELOAD, ...args, file], {
    cwd: dirname(file),
    // Ahead of the test's own limit, which would not show what it has printed.
    timeout: 110_000,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      ...withoutVitest(process.env),
      ...variables,
      SESSION_SECRET: 'not-so-secret',
      COOKIE_SECRET: 'not-so-secret-either-but-long-enough',
      TOKEN_KEY: Buffer.alloc(32, 7).toString('base64'),
      ...env,
    },
  });
  try {
    await check({ ...runningOf(child, sandbox, env), file });
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    await sandbox.close();
  }
}

function runningOf(child: ChildProcess, sandbox: Sandbox, env: Readonly<Record<string, string>>) {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const ended = once(child, 'close') as Promise<[number | null]>;
  ended.catch(() => {});
  const listening = new Promise<string>((resolve) => {
    child.once('message', ({ port }: { port: number }) => {
      const origin = `http://127.0.0.1:${port}`;
      sandbox.redirectUrl = `${origin}/callback`;
      resolve(origin);
    });
  });
  const origin = () =>
    Promise.race([
      listening,
      ended.then(([code]) => Promise.reject(new Error(`it ended with ${code}:\n${output}`))),
    ]);
  return {
    sandbox,
    /** Its variables, without those of the sandbox. */
    env,
    /** Where the program listens; rejects when it ends before. */
    origin,
    output: () => output,
    /** All that it has printed, once it has ended by itself with exit code 0. */
    async printed(): Promise<string> {
      const [code] = await ended;
      if (code !== 0) throw new Error(`it ended with ${code}:\n${output}`);
      return output;
    },
    async get(path: string, headers: Record<string, string> = {}): Promise<Response> {
      return fetch(`${await origin()}${path}`, { headers, redirect: 'manual' });
    },
    code: (kind: SandboxCode['kind']) => codeOf(sandbox, kind),
  };
}

/** Without vitest's variables, which would make tools believe that the program is a test. */
const withoutVitest = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !/^(VITEST|VITE|NODE_ENV$|NODE_OPTIONS$|TEST$)/.test(name),
    ),
  );
