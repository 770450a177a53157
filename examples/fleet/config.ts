import { randomBytes } from 'node:crypto';

/** Where the marketplace is, and what it knows this app by. */
export interface ServiceConfig {
  baseUrl: string;
  apiKey: string;
  authUrl: string;
  appId: string;
  appSecret: string;
}

/** What the primary is told by its environment. */
export interface Config {
  workers: number;
  port: number;
  host: string;
  production: boolean;
  /** Every worker signs with it, or a session would be known in one of them only. */
  sessionSecret: string;
  /** Of `EncryptedTokenStore`; none: tokens lie in Redis as they are. */
  tokenKeys: string[];
  redisUrl: string | undefined;
  service: ServiceConfig | undefined;
}

/** What the primary tells each worker. */
export interface WorkerConfig extends Omit<Config, 'workers'> {
  redisUrl: string;
  service: ServiceConfig;
}

/** A mistake of the operator's. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

const SERVICE = {
  baseUrl: 'MARKETPLACE_BASE_URL',
  apiKey: 'MARKETPLACE_API_KEY',
  authUrl: 'MARKETPLACE_AUTH_URL',
  appId: 'MARKETPLACE_APP_ID',
  appSecret: 'MARKETPLACE_APP_SECRET',
} as const satisfies Record<keyof ServiceConfig, string>;

type Env = Readonly<Record<string, string | undefined>>;

/** @throws ConfigError that names what is missing or wrong, and repeats no value. */
export function readConfig(env: Env): Config {
  const text = (name: string) => env[name]?.trim() || undefined;
  const count = (name: string, usual: number, most: number) => {
    const value = text(name) ?? `${usual}`;
    if (/^\d{1,5}$/.test(value) && Number(value) <= most) return Number(value);
    throw new ConfigError(`${name} must be a whole number up to ${most}.`);
  };
  const production = env.NODE_ENV === 'production';
  const needed = ['REDIS_URL', 'SESSION_SECRET', ...Object.values(SERVICE)];
  const missing = production ? needed.filter((name) => text(name) === undefined) : [];
  if (missing.length > 0) {
    throw new ConfigError(`NODE_ENV=production needs ${missing.join(', ')} as well.`);
  }
  const service = readService(text);
  return {
    workers: Math.max(1, count('WORKERS', 4, 256)),
    port: count('PORT', 3000, 65_535),
    // A sandbox lets anybody log in as anybody, so by default the network does not see it.
    host: text('HOST') ?? (service ? '0.0.0.0' : '127.0.0.1'),
    production,
    sessionSecret: text('SESSION_SECRET') ?? randomBytes(32).toString('hex'),
    tokenKeys: (text('TOKEN_KEYS') ?? '').split(/[\s,]+/).filter(Boolean),
    redisUrl: text('REDIS_URL'),
    service,
  };
}

function readService(text: (name: string) => string | undefined): ServiceConfig | undefined {
  const missing = Object.values(SERVICE).filter((name) => text(name) === undefined);
  if (missing.length === Object.keys(SERVICE).length) return undefined;
  if (missing.length > 0) {
    throw new ConfigError(
      `The marketplace is set up only in part. Missing: ${missing.join(', ')}. Set all of them for a real service, or none for the sandbox.`,
    );
  }
  const value = (name: keyof ServiceConfig) => text(SERVICE[name]) ?? '';
  return {
    baseUrl: value('baseUrl'),
    apiKey: value('apiKey'),
    authUrl: value('authUrl'),
    appId: value('appId'),
    appSecret: value('appSecret'),
  };
}
