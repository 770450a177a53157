import { MarketplaceStrategy, returnTo } from 'marketgate';
import { describe, expect, it } from 'vitest';
import {
  ATTEMPTS_COOKIE,
  cookieBrowser,
  drive,
  fakeLoginApi,
  longSecret,
} from '../../support/strategy-harness.js';

const NAME = ATTEMPTS_COOKIE;
const NEW = longSecret('new');
const OLD = longSecret('old');
const verify = async ({ profile }: { profile: { id: string } }) => ({ id: profile.id });

function strategyOf(
  cookieSecret: string | string[] = [NEW, OLD],
  overrides: Parameters<typeof fakeLoginApi>[0] = {},
) {
  const { loginApi, exchanged } = fakeLoginApi(overrides);
  const strategy = new MarketplaceStrategy({ loginApi, loginAttempts: { cookieSecret } }, verify);
  return { strategy, exchanged };
}

describe('login attempts in a cookie', () => {
  it('need no session', async () => {
    const { strategy, exchanged } = strategyOf();
    const browser = cookieBrowser();
    const [begun] = await drive(strategy, browser.request().req, { returnTo: '/api/me' });
    expect(begun?.[0]).toBe('redirect');
    const { req } = browser.request({ auth_key: 'k1' });
    expect(await drive(strategy, req)).toEqual([['success', { id: '77' }, {}]]);
    expect(returnTo(req)).toBe('/api/me');
    expect(exchanged).toEqual(['k1']);
    expect(browser.cookies[NAME]).toBeUndefined();
  });

  it('the cookie is HttpOnly, SameSite=Lax, for ten minutes and the whole site', async () => {
    const { strategy } = strategyOf();
    const { req, res } = cookieBrowser().request();
    await drive(strategy, req);
    expect(res.attributes[NAME]).toEqual({
      name: NAME,
      value: expect.any(String),
      expires: expect.any(Date),
      httpOnly: true,
      sameSite: 'lax',
      path: '/',
      maxAge: 600,
    });
  });

  it('over https it is Secure, under a name that no other host can set', async () => {
    const { strategy } = strategyOf();
    const browser = cookieBrowser(true);
    const { req, res } = browser.request();
    await drive(strategy, req);
    expect(res.attributes[`__Host-${NAME}`]).toMatchObject({ secure: true });
    const [outcome] = await drive(strategy, browser.request({ auth_key: 'k1' }).req);
    expect(outcome?.[0]).toBe('success');
  });

  it('a cookie set over http does not count over https', async () => {
    const { strategy } = strategyOf();
    const plain = cookieBrowser(false);
    await drive(strategy, plain.request().req);
    const secure = cookieBrowser(true);
    secure.cookies[NAME] = plain.cookies[NAME];
    const [outcome] = await drive(strategy, secure.request({ auth_key: 'k1' }).req);
    expect(outcome?.[2]).toBe(403);
  });

  it('are used once, also when the browser sends a copy of the cookie again', async () => {
    const { strategy, exchanged } = strategyOf();
    const browser = cookieBrowser();
    await drive(strategy, browser.request().req);
    const copy = browser.cookies[NAME];
    await drive(strategy, browser.request({ auth_key: 'k1' }).req);
    browser.cookies[NAME] = copy;
    const [again] = await drive(strategy, browser.request({ auth_key: 'k2' }).req);
    expect(again?.[2]).toBe(403);
    expect(exchanged).toEqual(['k1']);
  });

  it('signed with the old secret are still read, and with an unknown one not', async () => {
    const browser = cookieBrowser();
    await drive(strategyOf(OLD).strategy, browser.request().req);
    const kept = browser.cookies[NAME];
    const [rotated] = await drive(strategyOf().strategy, browser.request({ auth_key: 'k1' }).req);
    expect(rotated?.[0]).toBe('success');
    browser.cookies[NAME] = kept;
    const other = strategyOf([longSecret('another')]).strategy;
    const [refused] = await drive(other, browser.request({ auth_key: 'k2' }).req);
    expect(refused?.[2]).toBe(403);
  });

  it.each([
    ['nothing', ''],
    ['rubbish', 'rubbish'],
    ['three parts', 'a.b.c'],
    ['percent signs', '%E0%A4%A'],
    [
      'an unsigned token',
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('[{"id":"x","startedAt":0}]').toString('base64url')}.`,
    ],
  ])('%s in the cookie is no attempt', async (_name, value) => {
    const { strategy, exchanged } = strategyOf();
    const browser = cookieBrowser();
    browser.cookies[NAME] = value;
    const [outcome] = await drive(strategy, browser.request({ auth_key: 'k1' }).req);
    expect(outcome?.[2]).toBe(403);
    expect(exchanged).toEqual([]);
  });

  it('changed by one letter are no attempts', async () => {
    const { strategy } = strategyOf();
    const browser = cookieBrowser();
    await drive(strategy, browser.request().req);
    const [payload = '', signature] = (browser.cookies[NAME] ?? '').split('.');
    const changed = Buffer.from(payload, 'base64url')
      .toString()
      .replace(/id":"./, 'id":"_');
    browser.cookies[NAME] = `${Buffer.from(changed).toString('base64url')}.${signature}`;
    const [outcome] = await drive(strategy, browser.request({ auth_key: 'k1' }).req);
    expect(outcome?.[2]).toBe(403);
  });

  it('are five at most; the newest is taken first', async () => {
    let now = 0;
    const { strategy } = strategyOf(NEW, { clock: () => now });
    const browser = cookieBrowser();
    for (let i = 0; i < 7; i++) {
      now = i;
      await drive(strategy, browser.request().req, { returnTo: `/tab-${i}` });
    }
    const held = JSON.parse(
      Buffer.from((browser.cookies[NAME] ?? '').split('.')[0] ?? '', 'base64url').toString(),
    ) as { returnTo: string }[];
    expect(held.map(({ returnTo: path }) => path)).toEqual([
      '/tab-2',
      '/tab-3',
      '/tab-4',
      '/tab-5',
      '/tab-6',
    ]);
    const { req } = browser.request({ auth_key: 'k1' });
    await drive(strategy, req);
    expect(returnTo(req)).toBe('/tab-6');
  });

  it('end with a login: a stranger’s callback finds none to move the visitor elsewhere', async () => {
    const { strategy, exchanged } = strategyOf();
    const browser = cookieBrowser();
    for (let i = 0; i < 3; i++) await drive(strategy, browser.request().req);
    await drive(strategy, browser.request({ auth_key: 'mine' }).req);
    const { req } = browser.request({ auth_key: 'strangers' }, { user: { id: '77' } });
    expect(await drive(strategy, req)).toEqual([['pass']]);
    expect(exchanged).toEqual(['mine']);
  });

  it('fit into a cookie, whatever paths the tabs want to go to', async () => {
    const { strategy } = strategyOf();
    const browser = cookieBrowser();
    for (let i = 0; i < 5; i++) {
      await drive(strategy, browser.request().req, { returnTo: `/${String(i).repeat(1500)}` });
    }
    expect(browser.cookies[NAME]?.length).toBeLessThan(4000);
    const { req } = browser.request({ auth_key: 'k1' });
    await drive(strategy, req);
    expect(returnTo(req)).toBe(`/${'4'.repeat(1500)}`);
  });

  it('a path that is too long for a cookie is dropped, and not the login', async () => {
    const { strategy } = strategyOf();
    const browser = cookieBrowser();
    await drive(strategy, browser.request().req, { returnTo: `/${'\u00fc'.repeat(1800)}` });
    expect(browser.cookies[NAME]?.length).toBeLessThan(4000);
    const { req } = browser.request({ auth_key: 'k1' });
    expect((await drive(strategy, req))[0]?.[0]).toBe('success');
    expect(returnTo(req)).toBeUndefined();
  });

  it('do not show the secret', async () => {
    const { strategy } = strategyOf(longSecret('planted-secret-1'));
    const { inspect } = await import('node:util');
    expect(inspect(strategy, { showHidden: true, depth: 9 })).not.toContain('planted-secret-1');
  });
});
