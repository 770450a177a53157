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
}

/** What the flags of a command are. */
export type SettingFlags = Omit<Settings, 'timeout'> & { timeout?: string | undefined };

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

/** Flags before environment; a blank variable counts as none. */
export function readSettings(flags: SettingFlags, environment: NodeJS.ProcessEnv): Settings {
  const timeout = flags.timeout === undefined ? TIMEOUT : Number(flags.timeout);
  if (!Number.isInteger(timeout) || timeout < 1) {
    throw new UsageError('--timeout must be a whole number of milliseconds');
  }
  const settings: Settings = { allowInsecure: flags.allowInsecure, timeout };
  for (const [name, variable] of Object.entries(VARIABLES)) {
    const key = name as keyof typeof VARIABLES;
    settings[key] = flags[key] || environment[variable]?.trim() || undefined;
  }
  return settings;
}

/** A command was not told all that it needs: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
