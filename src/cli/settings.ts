import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { MAX_TIMER_DELAY } from '../deadline.js';
import { readDuration } from '../sandbox/clock.js';
import { CommandError, type RunOptions, readFile, type Values } from './io.js';

/** The environment variable of each setting; the examples use the same names. */
export const VARIABLES = {
  baseUrl: 'MARKETPLACE_BASE_URL',
  apiKey: 'MARKETPLACE_API_KEY',
  authUrl: 'MARKETPLACE_AUTH_URL',
  appId: 'MARKETPLACE_APP_ID',
  appSecret: 'MARKETPLACE_APP_SECRET',
  redisUrl: 'REDIS_URL',
} as const;

type Name = keyof typeof VARIABLES;

/** The flags of those that are no secret. */
const FLAGS: Readonly<Record<string, string>> = {
  baseUrl: 'base-url',
  authUrl: 'auth-url',
  appId: 'app-id',
};

/** A message that names the variables and flags of the command line in place of the options of a client or a sandbox. */
export const inVariables = (message: string): string =>
  message
    .replace(/(?:\w+: option )?"(\w+)"/g, (found, name: string) =>
      Object.hasOwn(VARIABLES, name) ? VARIABLES[name as Name] : found,
    )
    .replace('allowInsecure: true', '--allow-insecure')
    .replace('"timeout"', '--timeout')
    .replace('createSandbox.redirectUrl', '--redirect-url')
    .replace('createSandbox.consoleHosts', '--console-host')
    .replace('createSandbox.seed', '--seed');

/** Where the service is and what identifies the app to it. */
export interface Settings extends Partial<Record<Name, string | undefined>> {
  readonly allowInsecure: boolean;
  /** Milliseconds that one answer can take. */
  readonly timeout: number;
  /** Whether `NODE_ENV` is "production". */
  readonly isProduction: boolean;
  /** The file that variables were read from. */
  readonly file?: string;
  /** Why ./.env was not read, where it is there. */
  readonly unread?: string;
  /** The variables that the environment sets, whatever the file says. */
  readonly fromEnvironment: readonly string[];
}

/** The variables of the file that `--env` names, or of ./.env where it can be read, because nobody has asked for that one. */
function readVariables(
  given: string | undefined,
  dotEnv: string,
): Pick<Settings, 'file' | 'unread'> & { readonly variables: NodeJS.Dict<string> } {
  if (given !== undefined) return { file: given, variables: readFile('--env', given, parseEnv) };
  if (!existsSync(dotEnv)) return { variables: {} };
  try {
    return { file: dotEnv, variables: readFile('not read', dotEnv, parseEnv) };
  } catch (error) {
    return { unread: (error as Error).message, variables: {} };
  }
}

/**
 * Reads each setting from the flags, else from the environment, else from the file. A blank variable counts
 * as absent.
 * @throws CommandError that names the flag.
 */
export function readSettings(flags: Values, { environment, cwd }: RunOptions): Settings {
  const { timeout: limit = '10s', env, 'allow-insecure': allowInsecure = false } = flags;
  const timeout = readDuration(String(limit)) ?? 0;
  if (timeout < 1)
    throw new CommandError('--timeout must be a duration with its unit, as in 10s or 500ms');
  const { variables: fromFile, ...read } = readVariables(
    env as string | undefined,
    join(cwd, '.env'),
  );
  const settings = Object.entries(VARIABLES).map(([name, variable]) => [
    name,
    flags[FLAGS[name] ?? ''] || environment[variable]?.trim() || fromFile[variable]?.trim(),
  ]);
  const variables = [...Object.entries(VARIABLES), ['', 'NODE_ENV'] as const];
  const inEnvironment = variables.filter(
    ([name, variable]) => !flags[FLAGS[name] ?? ''] && environment[variable]?.trim(),
  );
  return {
    ...Object.fromEntries(settings.filter(([, value]) => value)),
    allowInsecure: allowInsecure === true,
    timeout: Math.min(Math.round(timeout), MAX_TIMER_DELAY),
    isProduction: (environment.NODE_ENV || fromFile.NODE_ENV) === 'production',
    fromEnvironment: inEnvironment.map(([, variable]) => variable),
    ...read,
  };
}

/**
 * The settings with these names, which must be there.
 * @throws CommandError that says which are missing and how to set them.
 */
export function required<N extends Name>(settings: Settings, ...names: N[]): Record<N, string> {
  const missing = names.filter((name) => settings[name] === undefined);
  if (missing.length === 0) return settings as Settings & Record<N, string>;
  const variables = missing.map((name) => VARIABLES[name]).join(' and ');
  const unread = settings.unread ? `; ${settings.unread}` : '';
  throw new CommandError(`set ${variables}, or name a file that does with --env${unread}`);
}
