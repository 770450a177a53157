import { expect } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { Browser, it, start } from './support.js';

// Labels and the like are for axe: test/system/browser/accessibility.
it.each([
  ...['/', '/preview/1042', '/preview/1049', '/preview/1055'],
  ...['/sandbox/console', '/nothing'],
])('%s: strict policy, nothing from elsewhere, a language, a title, a heading', async (path) => {
  const { headers, text } = await (await start()).get(path);
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).toMatch(/form-action 'self'$/);
  expect(policy).not.toMatch(/script-src (?!'self')|\*/);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(text).not.toMatch(/(?:src|href|action)="https?:/);
  expect(text).not.toMatch(/ (?:style|on\w+)="/);
  expect(text).toContain('<html lang="en">');
  expect(text).toMatch(/<title>[^<]+ · marketgate sandbox<\/title>/);
  expect(text.match(/<h1>/g)).toHaveLength(1);
});

it('the consent form may go on to the app', async ({ running }) => {
  const { headers } = await running.get(`/api/oauth?app_id=${running.appId}`);
  const policy = headers.get('content-security-policy');
  expect(policy).toMatch(/form-action 'self' http:\/\/localhost:3999$/);
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

it('the home page lists the items of the catalogue, without the deleted ones', async ({
  running,
}) => {
  const { items } = running.sandbox.data;
  const { text } = await running.get('/');
  const listed = [...text.matchAll(/href="\/preview\/(\d+)"/g)].map(([, id]) => Number(id));
  expect(listed).toEqual(items.flatMap(({ id, deleted }) => (deleted ? [] : [id])));
  expect(listed).not.toContain(1044);
});

it('every item has its own picture, which is always the same', async ({ running }) => {
  const { items } = running.sandbox.data;
  const pictures = async () => {
    const answers = items.map(({ id }) => running.get(`/media/items/${id}/thumbnail.svg`));
    return (await Promise.all(answers)).map(({ text }) => text);
  };
  const texts = await pictures();
  for (const text of texts) {
    expect(text).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"[\s\S]+<\/svg>$/);
    expect(text).not.toMatch(/NaN|undefined|Infinity/);
  }
  expect(new Set(texts).size).toBe(items.length);
  expect(await pictures()).toEqual(texts);
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
