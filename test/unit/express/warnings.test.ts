import express from 'express';
import { loadPurchase, type RequirePurchaseOptions, requirePurchase } from 'marketgate';
import request from 'supertest';
import { expect, it, vi } from 'vitest';
import { WARNINGS, warnOnce } from '../../../src/diagnostics.js';
import { expressVersions } from '../../support/express-versions.js';
import { keyApiOn } from '../../support/key-api-service.js';
import { hearWarnings } from '../../support/warnings.js';
import { CODE } from '../../support/wire.js';

it('a warning is given once per process, also by two copies of the package, with its page', async () => {
  hearWarnings();
  const path = '../../../src/diagnostics.js?another-copy';
  const other = await import(/* @vite-ignore */ path);
  const code = 'MARKETGATE_NO_SESSION';
  for (const warn of [warnOnce, warnOnce, other.warnOnce]) warn(code);
  expect(vi.mocked(process.emitWarning).mock.calls).toEqual([
    [`${WARNINGS[code]} (npx marketgate explain ${code})`, { type: 'MarketgateWarning', code }],
  ]);
});

it.each(expressVersions)(
  'a guard warns where it is made in a handler, however far up: %s',
  async (_version, express) => {
    const warnings = hearWarnings();
    const make = (depth = 30): unknown =>
      depth === 0 ? requirePurchase({ validatePurchase: async () => null }) : [make(depth - 1)];
    make();
    expect(warnings).toEqual([]);
    const app = express().get('/', (_req, res) => {
      make();
      res.end();
    });
    await request(app).get('/').expect(200);
    expect(warnings).toEqual(['MARKETGATE_CREATED_IN_HANDLER']);
  },
);

const [TOO_FEW, UNDECLARED, TRUSTS_ALL] = [
  'MARKETGATE_SHARED_CLIENT_ADDRESS',
  'MARKETGATE_UNEXPECTED_X_FORWARDED_FOR',
  'MARKETGATE_PERMISSIVE_TRUST_PROXY',
];
const [ONE, TWO, THREE] = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
const behind = (...visitors: (string | undefined)[]) => visitors.map((each) => `${each}, 10.0.0.1`);

it.each<[string, string[], unknown, (string | undefined)[], RequirePurchaseOptions?]>([
  ['not declared', [UNDECLARED], undefined, [ONE, ONE]],
  ['declared', [], 1, [ONE, TWO, THREE]],
  ['declared, but that anybody can be', [TRUSTS_ALL], true, [undefined, ONE]],
  ['one too few', [TOO_FEW], 1, behind(ONE, TWO, THREE)],
  ['for two visitors, perhaps of an office', [], 1, behind(ONE, TWO, ONE, TWO)],
  ['two, and both declared', [], 2, behind(ONE, TWO, THREE)],
  ['not declared, where users are counted', [], undefined, [ONE], { client: () => 'anna' }],
  ['declared, where nobody is counted', [], true, [ONE], { client: false }],
])('proxies that are %s: the warnings are %j', async (...row) => {
  const [, expected, trustProxy, forwarded, options] = row;
  const warnings = hearWarnings();
  const app = express();
  if (trustProxy !== undefined) app.set('trust proxy', trustProxy);
  app.use(loadPurchase(keyApiOn({ says: 'negative' }).keyApi, options));
  app.use((_req, res) => void res.end());
  for (const addresses of forwarded) {
    const visit = request(app).get('/').set('x-purchase-code', CODE);
    await (addresses === undefined ? visit : visit.set('x-forwarded-for', addresses));
  }
  expect(warnings).toEqual(expected);
});
