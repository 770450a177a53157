import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ConfigError, readConfig } from '../../../examples/shop/config.js';
import { listen, PortTakenError } from '../../../examples/shop/listen.js';

const REAL = {
  MARKETPLACE_BASE_URL: 'https://market.example/base',
  MARKETPLACE_API_KEY: 'key-secret',
  MARKETPLACE_AUTH_URL: 'https://login.example',
  MARKETPLACE_APP_ID: 'app-1',
  MARKETPLACE_APP_SECRET: 'app-secret',
};

const SECRET = 'x'.repeat(32);

/** The problems that an environment is refused for. */
function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('the configuration of the shop', () => {
  it('starts a sandbox, for this machine only, when it is told nothing', () => {
    expect(readConfig({})).toMatchObject({
      service: undefined,
      production: false,
      confirmLogin: 'auto',
      port: 3000,
      portIsFixed: false,
      host: '127.0.0.1',
      publicUrl: undefined,
    });
  });

  it('makes a session secret of its own in development, a new one each time', () => {
    const { sessionSecret } = readConfig({});
    expect(sessionSecret).toMatch(/^[0-9a-f]{64}$/);
    expect(readConfig({}).sessionSecret).not.toBe(sessionSecret);
  });

  it('talks to a real service when it is told everything', () => {
    const config = readConfig({
      ...REAL,
      NODE_ENV: 'production',
      SESSION_SECRET: SECRET,
      PUBLIC_URL: 'https://shop.example/',
      PORT: '8080',
      MARKETPLACE_MEDIA_ORIGINS: 'https://a.example, https://b.example/path',
    });
    expect(config).toEqual({
      shopName: 'Northlight Studio',
      marketplaceName: 'Marketplace',
      service: {
        baseUrl: 'https://market.example/base',
        apiKey: 'key-secret',
        authUrl: 'https://login.example',
        appId: 'app-1',
        appSecret: 'app-secret',
      },
      mediaOrigins: ['https://a.example', 'https://b.example'],
      sessionSecret: SECRET,
      production: true,
      confirmLogin: true,
      publicUrl: 'https://shop.example',
      port: 8080,
      portIsFixed: true,
      host: undefined,
    });
  });

  it.each(Object.keys(REAL))(
    'names %s when only that is missing, and repeats no value',
    (missing) => {
      const problems = problemsOf({ ...REAL, [missing]: ' ' });
      expect(problems).toHaveLength(1);
      expect(problems[0]).toContain(`Missing: ${missing}.`);
      expect(problems[0]).not.toMatch(/-secret|app-1|\.example/);
    },
  );

  it('names everything that is missing when only one is there', () => {
    const [problem] = problemsOf({ MARKETPLACE_API_KEY: 'key-secret' });
    for (const name of Object.keys(REAL).filter((other) => other !== 'MARKETPLACE_API_KEY')) {
      expect(problem).toContain(name);
    }
    expect(problem).not.toMatch(/Missing:[^.]*MARKETPLACE_API_KEY/);
  });

  it.each([undefined, 'too short'])('refuses production with the session secret %o', (secret) => {
    const problems = problemsOf({
      ...REAL,
      NODE_ENV: 'production',
      ...(secret && { SESSION_SECRET: secret }),
    });
    expect(problems).toEqual([expect.stringContaining('SESSION_SECRET must be set in production')]);
  });

  it('refuses to put a sandbox into production', () => {
    const problems = problemsOf({ NODE_ENV: 'production', SESSION_SECRET: SECRET });
    expect(problems).toEqual([expect.stringContaining('needs a real marketplace')]);
  });

  it.each([
    ['PORT', 'http'],
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PUBLIC_URL', 'shop.example'],
    ['MARKETPLACE_MEDIA_ORIGINS', 'https://a.example cdn'],
    ['CONFIRM_LOGIN', 'yes'],
    ['MARKETPLACE_BASE_URL', 'market.example'],
    ['MARKETPLACE_AUTH_URL', 'ftp://login.example'],
  ])('refuses %s=%s by its name', (name, value) => {
    const problems = problemsOf({ ...REAL, [name]: value });
    expect(problems).toEqual([expect.stringContaining(name)]);
  });

  it('tells all problems at once', () => {
    expect(problemsOf({ NODE_ENV: 'production', PORT: 'x' })).toHaveLength(3);
  });
});

describe('the port', () => {
  /** A server on a port that is then taken. */
  async function takenPort(): Promise<number> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
    return (server.address() as AddressInfo).port;
  }

  it('is another one when it is taken and nobody asked for it', async () => {
    const port = await takenPort();
    const server = createServer();
    const found = await listen(server, { port, portIsFixed: false, host: '127.0.0.1' });
    onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
    expect(found).toBeGreaterThan(port);
  });

  it('is the one asked for, or none', async () => {
    const port = await takenPort();
    const wanted = { port, portIsFixed: true, host: '127.0.0.1' };
    await expect(listen(createServer(), wanted)).rejects.toThrow(PortTakenError);
    await expect(listen(createServer(), wanted)).rejects.toThrow(`Port ${port} is taken`);
  });
});
