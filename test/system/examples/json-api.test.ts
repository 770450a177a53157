import { describe, expect, it } from 'vitest';
import { createApp } from '../../../examples/json-api/app.js';
import { Browser } from '../../support/browser.js';
import { openShop } from '../../support/shop.js';
import { longSecret } from '../../support/strategy-harness.js';

const HOUR = 3_600_000;

async function open() {
  const shop = await openShop();
  const { keyApi, loginApi, sandbox } = shop;
  const cookieSecret = longSecret();
  const app = createApp({ keyApi, loginApi, cookieSecret, clock: sandbox.clock });
  const origin = await shop.serve((req, res) => {
    // Node's fetch always says "cors"; a test that wants HTML is a browser.
    if (req.headers.accept === 'text/html') req.headers['sec-fetch-mode'] = 'navigate';
    app(req, res);
  });
  const browser = new Browser();
  return {
    ...{ ...shop, origin, browser },
    logIn: () => browser.logIn(`${origin}/login`, '3001'),
    /** Asks as a program does, with the browser's cookies. */
    async ask(path: string, headers: Record<string, string> = {}) {
      const response = await browser.get(`${origin}${path}`, {
        ...{ accept: 'application/json', ...headers },
      });
      const body = (await response.json()) as { code?: string };
      return [response.status, body.code ?? body] as const;
    },
  };
}

describe('examples/json-api', () => {
  it('answers programs in JSON, and never redirects them', async () => {
    const { ask } = await open();
    expect(await ask('/api/items/1042')).toMatchObject([200, { id: 1042, name: 'Fjord Light' }]);
    expect(await ask('/api/items/9999')).toEqual([404, 'item_not_found']);
    for (const path of ['/api/me', '/api/me/profile', '/api/downloads/1042']) {
      expect(await ask(path)).toEqual([401, 'login_required']);
    }
    expect(await ask('/api/items/%E0%A4%A')).toEqual([400, { type: 'about:blank', status: 400 }]);
  });

  it('sends a browser through the login and back; a cookie says who came back', async () => {
    const { browser, origin, ask, asked } = await open();
    const visit = await browser.logIn(`${origin}/api/me?again=1`, '3001');
    expect(visit.url).toBe(`${origin}/api/me?again=1`);
    expect(JSON.parse(visit.text)).toEqual({ id: '3001', name: 'Mira Solheim' });
    expect(await ask('/api/me/profile')).toMatchObject([200, { username: 'mira.solheim' }]);
    expect(asked('/api/authorize')).toBe(1);
  });

  it('the token ends after an hour, the cookie after two', async () => {
    const { browser, origin, sandbox, ask, logIn } = await open();
    await logIn();
    sandbox.clock.advance(HOUR);
    expect(await ask('/api/me/profile')).toEqual([401, 'access_token_expired']);
    expect((await ask('/api/me'))[0]).toBe(200);
    sandbox.dialect.rememberedConsent = true; // the login is redirects only
    const visit = await browser.open(`${origin}/api/me/profile`);
    expect(JSON.parse(visit.text)).toMatchObject({ id: '3001' });
    sandbox.clock.advance(2 * HOUR);
    expect(await ask('/api/me')).toEqual([401, 'login_required']);
  });

  it('a logout also ends the token of a copied cookie', async () => {
    const { browser, origin, ask, logIn } = await open();
    await logIn();
    const cookie = browser.cookies(origin);
    await fetch(`${origin}/logout`, { method: 'POST', headers: { cookie } });
    expect(await ask('/api/me/profile')).toEqual([401, 'access_token_expired']);
  });
});
