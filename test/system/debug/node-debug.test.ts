import { expect, it } from 'vitest';
import { Browser } from '../../support/browser.js';
import { runExample } from '../examples/run-example.js';

const SUPPORTED = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';
const WRONG = '00000000-0000-4000-8000-000000000000';

it('NODE_DEBUG=marketgate prints what the package does and why, in plain lines without a secret', async () => {
  const running = runExample('quickstart/server.ts', { PORT: '0', NODE_DEBUG: 'marketgate' });
  const origin = await running.prints(/Items: (http:\/\/localhost:\d+)\//);
  const browser = new Browser();
  for (const [id, code] of [[1042], [1042, WRONG], [1042, SUPPORTED], [1046, SUPPORTED]] as const) {
    await browser.open(`${origin}/downloads/${id}`, code ? { 'x-purchase-code': code } : {});
  }
  await browser.logIn(`${origin}/account`);
  await new Browser().open(`${origin}/callback?auth_key=a-key-of-nobody`);
  await running.end();
  const printed = running.errors();
  const lines = printed
    .split('\n')
    .map((line) => line.replace(/^MARKETGATE \d+: /, '').replace(/\d+ ms/, 'N ms'));
  expect(lines).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^GET \/downloads\/:id: refused, purchase_required: ./),
      'POST /api/purchases/validation: answered after N ms',
      'purchase: negative answer from the marketplace',
      expect.stringMatching(/^GET \/downloads\/:id: refused, purchase_code_invalid: ./),
      'purchase: positive answer from the marketplace',
      'GET /downloads/:id: let in',
      'purchase: positive answer from the cache',
      expect.stringMatching(/^GET \/downloads\/:id: refused, purchase_item_mismatch: ./),
      expect.stringMatching(
        /^login: failed, login_failed: this login was not started in this browser/,
      ),
      'login: the user is logged in',
    ]),
  );
  for (const secret of [SUPPORTED, WRONG, 'a-key-of-nobody']) expect(printed).not.toContain(secret);
});
