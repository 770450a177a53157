import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createSandbox, type Sandbox, type SandboxCode } from 'marketgate/sandbox';
import { codeOf } from '../../../support/shop.js';
import { type RunningExample, start } from '../../examples/run-example.js';
import { ROOT } from './pages.js';

/** Puts a program on a free port. */
export const PRELOAD = join(ROOT, 'test/system/docs/support/preload.cjs');
const HOST = join(ROOT, 'test/system/docs/support/host.mjs');

/** A running program of a page, and its sandbox; `file` is what runs. */
export type Running = ReturnType<typeof runningOf> & { readonly file: string };

/** How a program is run, with the variables of the sandbox. */
export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Variables with values of the sandbox's data. */
  readonly seeded?: (data: Sandbox['data']) => Record<string, string>;
  readonly args?: readonly string[];
  /** In the process of the host, for programs that serve until they are stopped; not two at once. */
  readonly isHosted?: boolean;
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
  { env: given = {}, seeded, args = [], isHosted = false }: RunOptions,
  check: (running: Running) => Promise<void>,
): Promise<void> {
  const sandbox = createSandbox();
  const env = { ...given, ...seeded?.(sandbox.data) };
  const variables = {
    ...(await variablesOf(sandbox)),
    SESSION_SECRET: 'not-so-secret',
    COOKIE_SECRET: 'not-so-secret-either-but-long-enough',
    TOKEN_KEY: Buffer.alloc(32, 7).toString('base64'),
    ...env,
  };
  const program = isHosted
    ? startHosted(file, variables)
    : startAlone(['--require', PRELOAD, ...args, file], dirname(file), variables);
  try {
    await check({ ...runningOf(program, sandbox, env), file });
  } finally {
    await program.stop();
    await sandbox.close();
  }
}

interface Program {
  /** The port that it listens on first; rejects when it fails or ends before. */
  readonly started: Promise<number>;
  readonly ended: Promise<unknown>;
  readonly all: () => string;
  readonly stop: () => unknown;
}

const failure = (how: unknown, printed: string) => new Error(`it ended with ${how}:\n${printed}`);

function startAlone(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Program {
  const { child, ended, all } = start(args, cwd, env);
  const started = Promise.race([
    once(child, 'message').then(([{ port }]) => port as number),
    ended.then((code) => Promise.reject(failure(code, all()))),
  ]);
  return { started, ended, all, stop: () => child.kill('SIGKILL') && ended };
}

let host: RunningExample | undefined;

function startHosted(file: string, env: NodeJS.ProcessEnv): Program {
  host ??= start(['--require', PRELOAD, HOST], dirname(HOST), {});
  const { child, ended, all: allOfHost } = host;
  const before = allOfHost().length;
  const all = () => allOfHost().slice(before);
  const { PATH, HOME } = process.env;
  child.send({ file: pathToFileURL(file).href, env: { PATH, HOME, ...env } });
  const started = once(child, 'message').then(([{ port, failed }]) => {
    if (failed !== undefined) throw failure(failed, all());
    return port as number;
  });
  return { started, ended, all, stop: () => child.send({}) };
}

/** Ends the process of the host. */
export async function endHost(): Promise<void> {
  host?.child.kill('SIGKILL');
  await host?.ended;
  host = undefined;
}

function runningOf(
  { started, ended, all }: Program,
  sandbox: Sandbox,
  env: Readonly<Record<string, string>>,
) {
  const listening = started.then((port) => {
    const url = `http://127.0.0.1:${port}`;
    sandbox.redirectUrl = `${url}/callback`;
    return url;
  });
  // Not every check waits for it.
  listening.catch(() => {});
  const origin = () => listening;
  return {
    sandbox,
    /** Its variables, without those of the sandbox. */
    env,
    /** Where the program listens; rejects when it ends before. */
    origin,
    output: all,
    /** All that it has printed, once it has ended by itself with exit code 0. */
    async printed(): Promise<string> {
      const code = await ended;
      if (code !== 0) throw failure(code, all());
      return all();
    },
    async get(path: string, headers: Record<string, string> = {}): Promise<Response> {
      return fetch(`${await origin()}${path}`, { headers, redirect: 'manual' });
    },
    code: (kind: SandboxCode['kind']) => codeOf(sandbox, kind),
  };
}
