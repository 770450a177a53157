import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { readSettings, SettingsError } from '../../../examples/downloads/settings.js';
import { Browser, type Visit } from '../../support/browser.js';
import { expressVersions } from '../../support/express-versions.js';
import { type Downloads, openDownloads } from './open-downloads.js';
import { runExample } from './run-example.js';

const UNKNOWN = 'aaaaaaaa-0000-4000-8000-000000000000';

const linkForm = ({ text }: Visit): string =>
  /action="(\/licences\/[^"]+\/link)"/.exec(text)?.[1] ?? '';

/** A visitor who is logged in and has redeemed a code. */
async function owner(shop: Downloads, kind = 'supported'): Promise<[Browser, Visit]> {
  const browser = new Browser();
  await browser.logIn(`${shop.origin}/login`, '3001');
  const visit = await browser.submit(`${shop.origin}/redeem`, { purchase_code: shop.code(kind) });
  return [browser, visit];
}

/** Presses "Download", and stops at the link. */
async function linkOf(shop: Downloads, browser: Browser, visit: Visit): Promise<string> {
  const answer = await fetch(`${shop.origin}${linkForm(visit)}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: browser.cookies(shop.origin) },
  });
  expect(answer.status).toBe(303);
  return new URL(answer.headers.get('location') ?? '', shop.origin).href;
}

describe.each(expressVersions)('the downloads example on %s', (_name, version) => {
  it('a code is redeemed once; the licence is there in another browser, and after a restart', async () => {
    const shop = await openDownloads(version);
    const [, visit] = await owner(shop);
    expect(visit.text).toContain('Fjord Light is yours now.');
    const other = new Browser();
    const again = await other.logIn(`${shop.origin}/login`, '3001');
    expect(linkForm(again)).toBe(linkForm(visit));
    expect(again.text).not.toContain('is yours now');
    expect((await shop.reopened()).of('3001')).toMatchObject([{ itemId: 1042 }]);
  });

  it('the file comes by the link, without a login, as a stream', async () => {
    const shop = await openDownloads(version);
    const [browser, visit] = await owner(shop);
    const answer = await fetch(await linkOf(shop, browser, visit));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-disposition')).toMatch(
      /^attachment; filename="?item-1042-.*csv"?$/,
    );
    expect(answer.headers.get('content-length')).toBeNull();
    expect((await answer.text()).split('\r\n')).toHaveLength(4098);
  });

  it('a link is dead after a minute, and altered in any part', async () => {
    const shop = await openDownloads(version);
    const [browser, visit] = await owner(shop);
    const link = await linkOf(shop, browser, visit);
    const other = await browser.submit(`${shop.origin}/redeem`, {
      purchase_code: shop.code('other-item'),
    });
    const ids = [...other.text.matchAll(/\/licences\/([^"]+)\/link/g)].map(([, id = '']) => id);
    const [first = '', second = ''] = ids;
    const altered = [
      link.replace(first, second),
      link.replace(/expires=(\d)/, (_all, digit) => `expires=${(Number(digit) % 9) + 1}`),
      link.replace(/signature=./, (start) => (start.endsWith('A') ? 'signature=B' : 'signature=A')),
      link.replace(/&signature=.*/, ''),
      `${link}&signature=x`,
    ];
    for (const each of altered) expect((await fetch(each)).status).toBe(403);
    shop.sandbox.clock.advance(59_000);
    expect((await fetch(link)).status).toBe(200);
    shop.sandbox.clock.advance(1000);
    expect((await fetch(link)).status).toBe(410);
  });

  it('a code that another account has redeemed is refused, and stays theirs', async () => {
    const shop = await openDownloads(version);
    await owner(shop);
    const thief = new Browser();
    await thief.logIn(`${shop.origin}/login`, '3002');
    const code = shop.code('supported');
    const visit = await thief.submit(`${shop.origin}/redeem`, { purchase_code: code });
    expect([visit.status, linkForm(visit)]).toEqual([409, '']);
    expect(visit.text).toContain('redeemed with another account');
    expect((await shop.reopened()).of('3002')).toEqual([]);
  });

  it('two accounts at the same moment: one gets it', async () => {
    const shop = await openDownloads(version);
    const statuses = await Promise.all(
      ['3001', '3002'].map(async (user) => {
        const browser = new Browser();
        await browser.logIn(`${shop.origin}/login`, user);
        const code = shop.code('supported');
        return (await browser.submit(`${shop.origin}/redeem`, { purchase_code: code })).status;
      }),
    );
    expect(statuses.sort()).toEqual([200, 409]);
  });

  it("somebody else's licence is as good as none", async () => {
    const shop = await openDownloads(version);
    const [, visit] = await owner(shop);
    const other = new Browser();
    await other.logIn(`${shop.origin}/login`, '3002');
    expect((await other.submit(`${shop.origin}${linkForm(visit)}`, {})).status).toBe(404);
  });

  it('a refund is noticed at the next download, though the yes is cached; old links die with it', async () => {
    const shop = await openDownloads(version);
    const [browser, visit] = await owner(shop);
    const link = await linkOf(shop, browser, visit);
    shop.sandbox.data.refundPurchase(shop.code('supported'));
    const refused = await browser.submit(`${shop.origin}${linkForm(visit)}`, {});
    expect([refused.status, linkForm(refused)]).toEqual([403, '']);
    expect(refused.text).toContain('Not valid any more');
    expect((await fetch(link)).status).toBe(403);
    expect((await shop.reopened()).of('3001')[0]?.lostAt).toMatch(/^\d{4}-/);
  });

  it('an outage refuses no owner, and calls nobody’s code invalid', async () => {
    const shop = await openDownloads(version);
    const [browser, visit] = await owner(shop);
    shop.sandbox.faults.errorRate = 1;
    shop.sandbox.clock.advance(3 * 3_600_000);
    expect((await fetch(await linkOf(shop, browser, visit))).status).toBe(200);
    const redeem = await browser.submit(`${shop.origin}/redeem`, {
      purchase_code: shop.code('other-item'),
    });
    expect(redeem.status).toBe(503);
    expect(redeem.text).toContain('nothing is wrong with it');
  });

  it('a wrong code is told beside the form; without a login there is none', async () => {
    const shop = await openDownloads(version);
    const [browser] = await owner(shop);
    const wrong = await browser.submit(`${shop.origin}/redeem`, { purchase_code: UNKNOWN });
    expect(wrong.status).toBe(403);
    expect(wrong.text).toContain('does not know this code');
    const stranger = await fetch(`${shop.origin}/redeem`, {
      method: 'POST',
      body: new URLSearchParams({ purchase_code: UNKNOWN }),
    });
    expect(stranger.status).toBe(401);
  });

  it('a form of another site is refused', async () => {
    const shop = await openDownloads(version);
    const [browser, visit] = await owner(shop);
    const answer = await fetch(`${shop.origin}${linkForm(visit)}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: browser.cookies(shop.origin), 'sec-fetch-site': 'cross-site' },
    });
    expect(answer.status).toBe(403);
  });

  it('no purchase code lies readable in the file, and none is in a link', async () => {
    const shop = await openDownloads(version);
    const [browser, visit] = await owner(shop);
    const link = await linkOf(shop, browser, visit);
    const stored = await readFile(shop.file, 'utf8');
    for (const text of [stored, link]) expect(text).not.toContain(shop.code('supported'));
    const [licence] = JSON.parse(stored) as { sealedCode: string }[];
    const bytes = Buffer.from(licence?.sealedCode ?? '', 'base64url').toString('latin1');
    expect(bytes).not.toContain(shop.code('supported').slice(0, 8));
  });
});

describe('examples/downloads/server.ts', () => {
  it('starts, prints codes, and ends on SIGTERM', async () => {
    const running = runExample('downloads/server.ts', { PORT: '0' });
    const origin = await running.prints(/Your files are at (http:\/\/localhost:\d+)/);
    const front = await fetch(`${origin}/`);
    expect([front.status, await front.text()]).toEqual([200, expect.stringContaining('Log in')]);
    expect((await fetch(`${origin}/assets/style.css`)).status).toBe(200);
    await running.prints(/[0-9a-f-]{36} {2}Fjord Light/);
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
  });

  it.each([
    ['MARKETPLACE_BASE_URL', { NODE_ENV: 'production' }],
    ['MARKETPLACE_APP_SECRET', { MARKETPLACE_API_KEY: 'very-secret' }],
    ['PORT', { PORT: '99999' }],
  ])('says that %s is missing or wrong, and repeats no secret', (name, env) => {
    expect(() => readSettings(env)).toThrow(SettingsError);
    expect(() => readSettings(env)).toThrow(name);
    expect(() => readSettings(env)).not.toThrow('very-secret');
  });
});
