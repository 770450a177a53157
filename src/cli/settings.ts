import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { UsageError } from './io.js';

/** The environment variable of each setting; the examples use the same names. */
export const VARIABLES = {
  baseUrl: 'MARKETPLACE_BASE_URL',
  apiKey: 'MARKETPLACE_API_KEY',
  authUrl: 'MARKETPLACE_AUTH_URL',
  appId: 'MARKETPLACE_APP_ID',
  appSecret: 'MARKETPLACE_APP_SECRET',
  redisUrl: 'REDIS_URL',
} as const;

/** Where the service is and what identifies the app to it. */
export interface Settings extends Partial<Record<keyof typeof VARIABLES, string | undefined>> {
  readonly allowInsecure: boolean;
  /** Milliseconds that one answer may take. */
  readonly timeout: number;
  /** Whether `NODE_ENV` is "production". */
  readonly isProduction: boolean;
  /** The file that variables were read from. */
  readonly file: string | undefined;
}

/** The flags that `doctor` and `verify` share. */
export interface SettingFlags {
  readonly baseUrl?: string;
  readonly authUrl?: string;
  readonly appId?: string;
  readonly allowInsecure?: boolean;
  readonly timeout?: string;
  readonly envFile?: string;
}

/** What a process was started with. */
export interface Surroundings {
  readonly environment: NodeJS.ProcessEnv;
  /** The working directory: its `.env` is read unless `--env-file` names another. */
  readonly cwd: string;
}

/**
 * Flags come before the environment, and that before the file. A blank variable counts as absent.
 * @throws UsageError that names the flag.
 */
export function readSettings(flags: SettingFlags, { environment, cwd }: Surroundings): Settings {
  const timeout = Number(flags.timeout ?? 10_000);
  if (!Number.isInteger(timeout) || timeout < 1) {
    throw new UsageError('--timeout must be a whole number of milliseconds');
  }
  const dotEnv = join(cwd, '.env');
  const file = flags.envFile ?? (existsSync(dotEnv) ? dotEnv : undefined);
  const fromFile = file === undefined ? {} : readEnvFile(file);
  const given: Readonly<Record<string, unknown>> = { ...flags };
  const settings = Object.entries(VARIABLES).map(([name, variable]) => [
    name,
    given[name] || environment[variable]?.trim() || fromFile[variable]?.trim() || undefined,
  ]);
  return {
    ...Object.fromEntries(settings),
    allowInsecure: flags.allowInsecure === true,
    timeout,
    isProduction: (environment.NODE_ENV || fromFile.NODE_ENV) === 'production',
    file,
  };
}

/** Reads a file as `node --env-file` does. */
function readEnvFile(path: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync(path, 'utf8'));
  } catch (error) {
    // Without the file's own text: it holds secrets.
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`--env-file: ${path} cannot be read (${code ?? 'it is not text'})`);
  }
}

/** Tells which of some settings are missing and how to give them; `undefined` when none is. */
export function missingSettings(
  settings: Settings,
  ...names: (keyof typeof VARIABLES)[]
): string | undefined {
  const missing = names.filter((name) => settings[name] === undefined);
  if (missing.length === 0) return undefined;
  const variables = missing.map((name) => VARIABLES[name]).join(' and ');
  return `set ${variables}, or name a file that does with --env-file`;
}
