import { expect, it } from 'vitest';
import { createApp } from '../../../examples/json-api/app.js';
import { Browser } from '../../support/browser.js';
import { openShop } from '../../support/shop.js';
import { longSecret } from '../../support/strategy-harness.js';

const HOUR = 3_600_000;

// The commands of its README try the rest.
it('examples/json-api: the token ends with a logout or after an hour, the cookie after two', async () => {
  const { keyApi, loginApi, sandbox, serve } = await openShop();
  const app = createApp({ keyApi, loginApi, cookieSecret: longSecret(), clock: sandbox.clock });
  const origin = await serve((req, res) => {
    // Node's fetch always says "cors"; a test that wants HTML is a browser.
    if (req.headers.accept === 'text/html') req.headers['sec-fetch-mode'] = 'navigate';
    app(req, res);
  });
  const browser = new Browser();
  /** Asks as a program does, with the browser's cookies. */
  const ask = async (path: string) => {
    const response = await browser.get(`${origin}${path}`, { accept: 'application/json' });
    const { code, id } = (await response.json()) as { code?: string; id?: string };
    return [response.status, code ?? id];
  };

  await browser.logIn(`${origin}/login`, '3001');
  // With a copy of the cookie, so that this browser keeps it.
  const headers = { cookie: browser.cookies(origin) };
  // The form of another site comes without the cookie.
  const elsewhere = await fetch(`${origin}/logout`, { method: 'POST' });
  expect(elsewhere.headers.getSetCookie()).toEqual([]);
  await fetch(`${origin}/logout`, { method: 'POST', headers });
  expect(await ask('/api/me/profile')).toEqual([401, 'access_token_expired']);

  await browser.logIn(`${origin}/login`, '3001');
  sandbox.clock.advance(HOUR);
  expect(await ask('/api/me/profile')).toEqual([401, 'access_token_expired']);
  expect(await ask('/api/me')).toEqual([200, '3001']);
  sandbox.dialect.rememberedConsent = true; // the login is redirects only
  const visit = await browser.open(`${origin}/api/me/profile`);
  expect(JSON.parse(visit.text)).toMatchObject({ id: '3001' });
  sandbox.clock.advance(2 * HOUR);
  expect(await ask('/api/me')).toEqual([401, 'login_required']);
});
