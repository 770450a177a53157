import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

/** Where the service is and who we are to it, from flags or the environment. */
export interface Settings {
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  authUrl?: string | undefined;
  appId?: string | undefined;
  appSecret?: string | undefined;
  redisUrl?: string | undefined;
  allowInsecure?: boolean | undefined;
  /** Milliseconds that one answer may take. */
  timeout: number;
  /** Whether `NODE_ENV` says so. */
  isProduction: boolean;
}

/** What the flags of a command are. */
export type SettingFlags = Omit<Settings, 'timeout' | 'isProduction'> & {
  timeout?: string | undefined;
  envFile?: string | undefined;
};

const TIMEOUT = 10_000;

/** The environment variable of each setting: the names that the examples use too. */
export const VARIABLES = {
  baseUrl: 'MARKETPLACE_BASE_URL',
  apiKey: 'MARKETPLACE_API_KEY',
  authUrl: 'MARKETPLACE_AUTH_URL',
  appId: 'MARKETPLACE_APP_ID',
  appSecret: 'MARKETPLACE_APP_SECRET',
  redisUrl: 'REDIS_URL',
} as const;

/** Flags before environment, and that before the file; a blank variable counts as none. */
export function readSettings(flags: SettingFlags, environment: NodeJS.ProcessEnv): Settings {
  const timeout = flags.timeout === undefined ? TIMEOUT : Number(flags.timeout);
  if (!Number.isInteger(timeout) || timeout < 1) {
    throw new UsageError('--timeout must be a whole number of milliseconds');
  }
  const file = flags.envFile === undefined ? {} : readEnvFile(flags.envFile);
  const settings: Settings = {
    allowInsecure: flags.allowInsecure,
    timeout,
    isProduction: (environment.NODE_ENV || file.NODE_ENV) === 'production',
  };
  for (const [name, variable] of Object.entries(VARIABLES)) {
    const key = name as keyof typeof VARIABLES;
    const given = flags[key] || environment[variable]?.trim() || file[variable]?.trim();
    settings[key] = given || undefined;
  }
  return settings;
}

/** As `node --env-file` reads it. */
function readEnvFile(path: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync(path, 'utf8'));
  } catch (error) {
    // The file's own text stays out of it.
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`--env-file: ${path} cannot be read (${code ?? 'no text'})`);
  }
}

/** A command was not told all that it needs: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
