import { expect } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { Browser, it, start } from './support.js';

// Labels and the like are for axe: test/system/browser/accessibility.
it.each([
  ...['/', '/preview/1042', '/preview/1049', '/sandbox/console', '/nothing'],
  '/api/oauth?app_id=18230471',
])('%s: strict policy, nothing from elsewhere, a language, a title, a heading', async (path) => {
  const { headers, text } = await (await start()).get(path);
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  // The consent form goes on to the app.
  expect(policy).toMatch(/form-action 'self'(?: http:\/\/localhost:3999)?$/);
  expect(policy).not.toMatch(/script-src (?!'self')|\*/);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(text).not.toMatch(/(?:src|href|action)="https?:/);
  expect(text).not.toMatch(/ (?:style|on\w+)="/);
  expect(text).toContain('<html lang="en">');
  expect(text).toMatch(/<title>[^<]+ · marketgate sandbox<\/title>/);
  expect(text.match(/<h1>/g)).toHaveLength(1);
});

it('pages escape what a seed brings', async () => {
  const evil = '<img src=x onerror=alert(1)>"\'';
  const { users, apps, items } = createSandbox().data;
  const seed = {
    users: [{ ...users[0], user_name: evil, user_firstname: evil, user_email: evil }],
    apps: [{ ...apps[0], name: evil }],
    items: [{ ...items[0], name: evil, description: evil, tags: [evil], category: evil }],
  };
  const running = await start({ seed: seed as never });
  const login = await new Browser(running.authUrl).visit(`/api/oauth?app_id=${running.appId}`);
  const texts = [login.text];
  for (const path of ['/', '/preview/1042', '/sandbox/console']) {
    texts.push((await running.get(path)).text);
  }
  for (const text of texts) expect(text).not.toContain('<img src=x');
  expect(login.text).toContain('&lt;img src=x');
});

it('browsers can seek in sounds and clips, by byte ranges', async ({ running }) => {
  const part = async (file: string, range: string) => {
    const url = `${running.baseUrl}/media/items/1055/${file}`;
    const response = await fetch(url, { headers: { range } });
    return [response.status, Buffer.from(await response.arrayBuffer()).toString('hex')];
  };
  expect(await part('preview.wav', 'bytes=8-11')).toEqual([206, '57415645']);
  expect(await part('preview.webm', 'bytes=0-3')).toEqual([206, '1a45dfa3']);
  expect((await part('preview.wav', 'lines=1'))[0]).toBe(200);
});
