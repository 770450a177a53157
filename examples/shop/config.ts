import { randomBytes } from 'node:crypto';

/** Where the marketplace is, and what it knows this shop by. */
export interface ServiceConfig {
  baseUrl: string;
  apiKey: string;
  authUrl: string;
  appId: string;
  appSecret: string;
}

/** What the Express app must know. */
export interface AppConfig {
  shopName: string;
  /** As in "Log in with NAME". */
  marketplaceName: string;
  service: ServiceConfig;
  /** Origins that pictures and previews come from, for the content security policy. */
  mediaOrigins: string[];
  sessionSecret: string;
  /** Cookies only over https, behind one proxy that ends TLS. */
  production: boolean;
  /** Ask "Continue as NAME?" before a login is completed, so that nobody lands in another's account. */
  confirmLogin: boolean | 'auto';
  /** The origin visitors see; the redirect URL registered with the marketplace starts with it. */
  publicUrl: string | undefined;
}

/** What the process is told by its environment. Without `service` it starts a sandbox. */
export interface ServerConfig extends Omit<AppConfig, 'service'> {
  service: ServiceConfig | undefined;
  port: number;
  /** Somebody asked for this very port: another one would not do. */
  portIsFixed: boolean;
  host: string | undefined;
}

/** Everything that is wrong with the environment, at once, so that it is put right in one go. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

type Env = Readonly<Record<string, string | undefined>>;

const SERVICE_VARIABLES = {
  baseUrl: 'MARKETPLACE_BASE_URL',
  apiKey: 'MARKETPLACE_API_KEY',
  authUrl: 'MARKETPLACE_AUTH_URL',
  appId: 'MARKETPLACE_APP_ID',
  appSecret: 'MARKETPLACE_APP_SECRET',
} as const satisfies Record<keyof ServiceConfig, string>;

/**
 * Reads the environment once, at start.
 * @throws ConfigError that names every variable that is missing or wrong. No value is repeated in it:
 * most of them are secrets.
 */
export function readConfig(env: Env): ServerConfig {
  const problems: string[] = [];
  const text = (name: string) => env[name]?.trim() || undefined;
  const production = env.NODE_ENV === 'production';
  const service = readService(text, production, problems);
  const port = readPort(text('PORT'), problems);
  const config: ServerConfig = {
    shopName: text('SHOP_NAME') ?? 'Northlight Studio',
    marketplaceName: text('MARKETPLACE_NAME') ?? 'Marketplace',
    service,
    mediaOrigins: (text('MARKETPLACE_MEDIA_ORIGINS') ?? '')
      .split(/[\s,]+/)
      .filter(Boolean)
      .map((value) => readOrigin('MARKETPLACE_MEDIA_ORIGINS', value, problems)),
    sessionSecret: readSessionSecret(text('SESSION_SECRET'), production, problems),
    production,
    confirmLogin:
      readFlag('CONFIRM_LOGIN', text('CONFIRM_LOGIN'), problems) ?? (production || 'auto'),
    publicUrl: text('PUBLIC_URL') && readOrigin('PUBLIC_URL', text('PUBLIC_URL'), problems),
    port: port ?? 3000,
    portIsFixed: port !== undefined,
    // A sandbox lets anybody log in as anybody, so by default the network does not see it.
    host: text('HOST') ?? (service === undefined ? '127.0.0.1' : undefined),
  };
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

function readFlag(
  name: string,
  value: string | undefined,
  problems: string[],
): boolean | undefined {
  if (value === undefined) return undefined;
  if (value !== '1' && value !== '0') problems.push(`${name} must be 1 or 0.`);
  return value === '1';
}

function readService(
  text: (name: string) => string | undefined,
  production: boolean,
  problems: string[],
): ServiceConfig | undefined {
  const names = Object.values(SERVICE_VARIABLES);
  const missing = names.filter((name) => text(name) === undefined);
  if (missing.length === names.length) {
    if (production) {
      problems.push(
        `NODE_ENV=production needs a real marketplace: set ${names.join(', ')} (the sandbox lets anybody log in as anybody).`,
      );
    }
    return undefined;
  }
  if (missing.length > 0) {
    problems.push(
      `The marketplace is set up only in part. Missing: ${missing.join(', ')}. Set all of them for a real service, or none for the sandbox.`,
    );
  }
  const url = (name: string) => {
    const value = text(name);
    if (value !== undefined && !isWebUrl(value)) {
      problems.push(`${name} must be an absolute http or https URL.`);
    }
    return value ?? '';
  };
  return {
    baseUrl: url(SERVICE_VARIABLES.baseUrl),
    apiKey: text(SERVICE_VARIABLES.apiKey) ?? '',
    authUrl: url(SERVICE_VARIABLES.authUrl),
    appId: text(SERVICE_VARIABLES.appId) ?? '',
    appSecret: text(SERVICE_VARIABLES.appSecret) ?? '',
  };
}

function readSessionSecret(
  secret: string | undefined,
  production: boolean,
  problems: string[],
): string {
  if (production && (secret === undefined || secret.length < 32)) {
    problems.push(
      'SESSION_SECRET must be set in production, to at least 32 random characters, as from: openssl rand -hex 32',
    );
  }
  // In development the sessions lie in memory and end with the process; so may their secret.
  return secret ?? randomBytes(32).toString('hex');
}

function readPort(value: string | undefined, problems: string[]): number | undefined {
  if (value === undefined) return undefined;
  const port = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (!(port <= 65_535)) problems.push('PORT must be a whole number from 0 to 65535.');
  return port;
}

const isWebUrl = (value: string): boolean =>
  URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);

function readOrigin(name: string, value: string | undefined, problems: string[]): string {
  if (value !== undefined && isWebUrl(value)) return new URL(value).origin;
  problems.push(`${name} must hold an origin such as https://shop.example`);
  return '';
}
