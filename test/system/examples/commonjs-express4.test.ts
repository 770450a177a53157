import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Browser } from '../../support/browser.js';
import { runExample } from './run-example.js';

// On Express 4 and from the tarball it is run in test/package.
describe('examples/commonjs-express4/server.js, from the repository', () => {
  it('guards, logs in, and ends on SIGTERM', async () => {
    const running = runExample('commonjs-express4/server.js', { PORT: '0' });
    const code = await running.prints(/Try code ([0-9a-f-]{36})/);
    const origin = (await running.prints(/The API is at (http:\/\/localhost:\d+)/)) ?? '';
    const path = `${origin}/items/1042/download`;
    expect((await fetch(path)).status).toBe(402);
    const right = await fetch(path, { headers: { 'x-purchase-code': code } });
    expect(await right.json()).toEqual({ file: 'item-1042.zip', license_type: 'Regular' });
    const visit = await new Browser().logIn(`${origin}/login`, '3001');
    expect(JSON.parse(visit.text)).toMatchObject({ id: '3001', name: 'Mira Solheim' });
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
  });

  it('half a configuration is refused, and repeats no secret', async () => {
    const env = { MARKETPLACE_API_KEY: 'very-secret' };
    const running = runExample('commonjs-express4/server.js', env);
    expect(await running.ended).toBe(1);
    expect(running.output()).toContain('Set all of MARKETPLACE_BASE_URL');
    expect(running.output()).not.toContain('very-secret');
  });

  it('its package.json asks for CommonJS and Express 4', () => {
    const file = new URL('../../../examples/commonjs-express4/package.json', import.meta.url);
    const { type, dependencies } = JSON.parse(readFileSync(file, 'utf8')) as {
      type: string;
      dependencies: Record<string, string>;
    };
    expect(type).toBe('commonjs');
    expect(dependencies.express).toMatch(/^\^4\./);
  });
});
