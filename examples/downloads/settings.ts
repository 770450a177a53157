import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where the marketplace is, and what it knows this app by. */
export interface Service {
  baseUrl: string;
  apiKey: string;
  authUrl: string;
  appId: string;
  appSecret: string;
}

/** What the process is told by its environment. Without `service` it starts a sandbox. */
export interface Settings {
  service: Service | undefined;
  secret: string;
  /** The file that licences are kept in. */
  licenceFile: string;
  production: boolean;
  publicUrl: string | undefined;
  port: number;
}

const VARIABLES = {
  baseUrl: 'MARKETPLACE_BASE_URL',
  apiKey: 'MARKETPLACE_API_KEY',
  authUrl: 'MARKETPLACE_AUTH_URL',
  appId: 'MARKETPLACE_APP_ID',
  appSecret: 'MARKETPLACE_APP_SECRET',
} as const satisfies Record<keyof Service, string>;

/** What is wrong with the environment. Repeats no value: most of them are secrets. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** @throws SettingsError that says what to set. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const text = (name: string) => env[name]?.trim() ?? '';
  const production = env.NODE_ENV === 'production';
  const missing = Object.values(VARIABLES).filter((name) => text(name) === '');
  const isNone = missing.length === Object.keys(VARIABLES).length;
  if (missing.length > 0 && (!isNone || production)) {
    throw new SettingsError(`Set ${missing.join(', ')}: all five, or none for the sandbox.`);
  }
  const names = Object.entries(VARIABLES) as [keyof Service, string][];
  const service = Object.fromEntries(names.map(([key, name]) => [key, text(name)]));
  if (production && (text('SECRET').length < 32 || text('PUBLIC_URL') === '')) {
    throw new SettingsError('Set SECRET (32 random characters or more) and PUBLIC_URL.');
  }
  const port = Number(text('PORT') || 3000);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new SettingsError('PORT must be a whole number from 0 to 65535.');
  }
  return {
    service: isNone ? undefined : (service as unknown as Service),
    // Made up at each start: in development a restart may log everybody out.
    secret: text('SECRET') || randomBytes(32).toString('hex'),
    licenceFile: text('LICENCE_FILE') || join(tmpdir(), `licences-${process.pid}.json`),
    production,
    publicUrl: text('PUBLIC_URL') || undefined,
    port,
  };
}
