import { dirname, join } from 'node:path';
import { createSandbox, type Sandbox, type SandboxCode } from 'marketgate/sandbox';
import { codeOf } from '../../../support/shop.js';
import { type RunningExample, start } from '../../examples/run-example.js';
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
  const program = start(['--require', PRELOAD, ...args, file], dirname(file), {
    ...(await variablesOf(sandbox)),
    SESSION_SECRET: 'not-so-secret',
    COOKIE_SECRET: 'not-so-secret-either-but-long-enough',
    TOKEN_KEY: Buffer.alloc(32, 7).toString('base64'),
    ...env,
  });
  try {
    await check({ ...runningOf(program, sandbox, env), file });
  } finally {
    program.child.kill('SIGKILL');
    await program.ended;
    await sandbox.close();
  }
}

function runningOf(
  { child, ended, all }: RunningExample,
  sandbox: Sandbox,
  env: Readonly<Record<string, string>>,
) {
  const listening = new Promise<string>((resolve) => {
    child.once('message', (message) => {
      const origin = `http://127.0.0.1:${(message as { port: number }).port}`;
      sandbox.redirectUrl = `${origin}/callback`;
      resolve(origin);
    });
  });
  const earlyEnd = ended.then((code) =>
    Promise.reject(new Error(`it ended with ${code}:\n${all()}`)),
  );
  earlyEnd.catch(() => {});
  const origin = () => Promise.race([listening, earlyEnd]);
  return {
    sandbox,
    /** Its variables, without those of the sandbox. */
    env,
    /** Where the program listens; rejects when it ends before. */
    origin,
    output: all,
    /** All that it has printed, once it has ended by itself with exit code 0. */
    async printed(): Promise<string> {
      return (await ended) === 0 ? all() : earlyEnd;
    },
    async get(path: string, headers: Record<string, string> = {}): Promise<Response> {
      return fetch(`${await origin()}${path}`, { headers, redirect: 'manual' });
    },
    code: (kind: SandboxCode['kind']) => codeOf(sandbox, kind),
  };
}
