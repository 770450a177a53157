import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from '../../../examples/json-api/config.js';
import { runExample } from './run-example.js';

const SERVER = 'json-api/server.ts';
const README = fileURLToPath(new URL('../../../examples/json-api/README.md', import.meta.url));

const CURL = spawnSync('curl', ['--version']).status === 0;
if (!CURL) console.warn('The README of json-api is not run: there is no curl on this machine.');

describe('examples/json-api/server.ts', () => {
  it('serves API and front page, keeps its port, and ends on SIGTERM', async () => {
    const running = runExample(SERVER, { PORT: '0' });
    const origin = await running.prints(/(http:\/\/localhost:\d+)\/api\/items/);
    const front = await fetch(`${origin}/`);
    expect([front.status, await front.text()]).toEqual([200, expect.stringContaining('/front.js')]);
    for (const path of ['/front.js', '/style.css', '/icon.svg', '/api/items']) {
      expect((await fetch(`${origin}${path}`)).status).toBe(200);
    }
    const { port } = new URL(origin);
    const second = runExample(SERVER, { PORT: port });
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain(`Port ${port} is taken.`);
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
  });

  it.skipIf(!CURL)('does what the README says that it does', async () => {
    const running = runExample(SERVER, { PORT: '0' });
    const origin = await running.prints(/(http:\/\/localhost:\d+)\/api\/items/);
    const blocks = [...readFileSync(README, 'utf8').matchAll(/```sh\n([\s\S]*?)```/g)];
    expect(blocks).toHaveLength(3);
    // A line between the answers, which have none.
    const script = blocks
      .map(([, block = '']) => block.replaceAll('http://localhost:3000', origin))
      .join('\n')
      .replace(/^curl -s .*\/(api|logout).*$/gm, '$&; echo');
    const out = await new Promise<string>((resolve, reject) => {
      execFile('sh', ['-eu', '-c', script], (error, stdout) =>
        error ? reject(error) : resolve(stdout),
      );
    });
    const answers = out
      .trim()
      .split('\n')
      .map((line) => (line.startsWith('{') ? JSON.parse(line) : line));
    expect(answers).toEqual([
      { items: expect.arrayContaining([expect.objectContaining({ id: 1042 })]) },
      expect.objectContaining({ id: 1042, name: 'Fjord Light' }),
      expect.objectContaining({ status: 401, code: 'login_required' }),
      { id: '3001', name: 'Mira Solheim' },
      expect.objectContaining({ id: '3001', username: 'mira.solheim' }),
      expect.objectContaining({ file: expect.stringMatching(/^item-1042-/) }),
      '',
      expect.objectContaining({ status: 401, code: 'login_required' }),
    ]);
  });

  it('says what is missing in production, and repeats no secret', async () => {
    const running = runExample(SERVER, {
      NODE_ENV: 'production',
      MARKETPLACE_API_KEY: 'very-secret',
      COOKIE_SECRET: 'x',
    });
    expect(await running.ended).toBe(1);
    expect(running.output()).toContain('Set MARKETPLACE_BASE_URL, MARKETPLACE_AUTH_URL');
    expect(running.output()).not.toMatch(/very-secret|at .*\.js/);
  });
});

describe('the environment of json-api', () => {
  const service = {
    MARKETPLACE_BASE_URL: 'https://market.example',
    MARKETPLACE_API_KEY: 'key',
    MARKETPLACE_AUTH_URL: 'https://login.market.example',
    MARKETPLACE_APP_ID: 'app',
    MARKETPLACE_APP_SECRET: 'secret',
  };
  const production = {
    ...service,
    NODE_ENV: 'production',
    COOKIE_SECRET: 'a'.repeat(32),
    PUBLIC_URL: 'https://shop.example',
  };

  it('empty: a sandbox, on this machine only, with a secret made up', () => {
    const config = readConfig({});
    expect(config).toMatchObject({ service: undefined, host: '127.0.0.1', port: 3000 });
    expect(config.cookieSecrets).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(readConfig({}).cookieSecrets).not.toEqual(config.cookieSecrets);
  });

  it('complete: the real service, with several secrets', () => {
    const secrets = [`${'b'.repeat(32)}`, `${'a'.repeat(32)}`];
    expect(readConfig({ ...production, COOKIE_SECRET: secrets.join(', ') })).toEqual({
      service: {
        baseUrl: 'https://market.example',
        apiKey: 'key',
        authUrl: 'https://login.market.example',
        appId: 'app',
        appSecret: 'secret',
      },
      cookieSecrets: secrets,
      production: true,
      publicUrl: 'https://shop.example',
      port: 3000,
      host: undefined,
    });
  });

  it.each([
    ['MARKETPLACE_APP_SECRET', { ...service, MARKETPLACE_APP_SECRET: ' ' }],
    ['MARKETPLACE_BASE_URL', { NODE_ENV: 'production' }],
    ['COOKIE_SECRET', { ...production, COOKIE_SECRET: undefined }],
    ['COOKIE_SECRET', { ...production, COOKIE_SECRET: `${'a'.repeat(32)},short` }],
    ['PUBLIC_URL', { ...production, PUBLIC_URL: undefined }],
    ['PUBLIC_URL', { PUBLIC_URL: 'shop.example' }],
    ['PORT', { PORT: '70000' }],
    ['PORT', { PORT: 'http' }],
  ])('names %s when that is missing or wrong', (name, env) => {
    expect(() => readConfig(env)).toThrow(ConfigError);
    expect(() => readConfig(env)).toThrow(name);
  });
});
