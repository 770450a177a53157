import { randomBytes } from 'node:crypto';

/** Where the marketplace is, and what it knows this app by. */
export interface ServiceConfig {
  baseUrl: string;
  apiKey: string;
  authUrl: string;
  appId: string;
  appSecret: string;
}

/** What the Express app must know. */
export interface AppConfig {
  /** Sign the two cookies of a login: the first signs, all verify. Newest first. */
  cookieSecrets: readonly string[];
  /** Cookies only over https, behind one proxy that ends TLS. */
  production: boolean;
  /** The origin that visitors see, and that the marketplace sends them back to. */
  publicUrl: string;
  /** Where pictures of items come from, for the content security policy. */
  mediaOrigin: string;
}

/** What the process is told by its environment. Without `service` it starts a sandbox. */
export interface ServerConfig {
  service: ServiceConfig | undefined;
  cookieSecrets: readonly string[];
  production: boolean;
  publicUrl: string | undefined;
  port: number;
  host: string | undefined;
}

type Env = Readonly<Record<string, string | undefined>>;

const SERVICE_VARIABLES = {
  baseUrl: 'MARKETPLACE_BASE_URL',
  apiKey: 'MARKETPLACE_API_KEY',
  authUrl: 'MARKETPLACE_AUTH_URL',
  appId: 'MARKETPLACE_APP_ID',
  appSecret: 'MARKETPLACE_APP_SECRET',
} as const satisfies Record<keyof ServiceConfig, string>;

/** What is wrong with the environment. Repeats no value: most of them are secrets. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Reads the environment once, at start.
 * @throws ConfigError that says what to set.
 */
export function readConfig(env: Env): ServerConfig {
  const production = env.NODE_ENV === 'production';
  const service = readService(env, production);
  return {
    service,
    production,
    cookieSecrets: readSecrets(env.COOKIE_SECRET, production),
    publicUrl: readOrigin(env.PUBLIC_URL, production),
    port: readPort(env.PORT),
    // A sandbox lets anybody log in as anybody, so the network does not see it.
    host: env.HOST?.trim() || (service === undefined ? '127.0.0.1' : undefined),
  };
}

function readService(env: Env, production: boolean): ServiceConfig | undefined {
  const names = Object.values(SERVICE_VARIABLES);
  const missing = names.filter((name) => !env[name]?.trim());
  if (missing.length === names.length && !production) return undefined;
  if (missing.length > 0) {
    throw new ConfigError(
      `Set ${missing.join(', ')}: all five for a real marketplace, or none of them for the sandbox, which is not for production.`,
    );
  }
  const text = (name: string) => env[name]?.trim() ?? '';
  return {
    baseUrl: text(SERVICE_VARIABLES.baseUrl),
    apiKey: text(SERVICE_VARIABLES.apiKey),
    authUrl: text(SERVICE_VARIABLES.authUrl),
    appId: text(SERVICE_VARIABLES.appId),
    appSecret: text(SERVICE_VARIABLES.appSecret),
  };
}

/** COOKIE_SECRET=new,old while a secret is being changed: logins under the old one go on. */
function readSecrets(value: string | undefined, production: boolean): readonly string[] {
  const secrets = (value ?? '').split(',').flatMap((secret) => secret.trim() || []);
  if (production && (secrets.length === 0 || secrets.some((secret) => secret.length < 32))) {
    throw new ConfigError(
      'Set COOKIE_SECRET in production, to 32 random characters or more, as from: openssl rand -hex 32. While you change it: COOKIE_SECRET=new,old',
    );
  }
  // Made up at each start: in development a restart may log everybody out.
  return secrets.length > 0 ? secrets : [randomBytes(32).toString('hex')];
}

function readOrigin(value: string | undefined, production: boolean): string | undefined {
  if (!value?.trim()) {
    if (!production) return undefined;
    throw new ConfigError('Set PUBLIC_URL in production, as in https://shop.example');
  }
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) {
    throw new ConfigError('PUBLIC_URL must be an http or https origin, as in https://shop.example');
  }
  return new URL(value).origin;
}

function readPort(value: string | undefined): number {
  if (!value?.trim()) return 3000;
  const port = /^\d{1,5}$/.test(value.trim()) ? Number(value) : Number.NaN;
  if (!(port <= 65_535)) throw new ConfigError('PORT must be a whole number from 0 to 65535.');
  return port;
}
