/** Where the service is and who we are to it, from flags or the environment. */
export interface Settings {
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  authUrl?: string | undefined;
  appId?: string | undefined;
  appSecret?: string | undefined;
  redisUrl?: string | undefined;
  allowInsecure?: boolean | undefined;
}

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
export function readSettings(flags: Settings, environment: NodeJS.ProcessEnv): Settings {
  const settings: Settings = { allowInsecure: flags.allowInsecure };
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
