import { errorHandler, type KeyApiOptions, requirePurchase } from 'marketgate';
import request from 'supertest';
import { describe, expect, it } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { fakeTimers, later } from '../../support/later.js';
import { openShop, VALIDATION } from '../../support/shop.js';
import { guess } from '../../support/wire.js';

const ONE = '10.6.6.6';

// What one visitor does leaves the others enough of the sixty requests a minute that the service allows.
describe.each(expressVersions)('a quota of sixty requests a minute, on %s', (_version, express) => {
  async function open(options: Partial<KeyApiOptions> = {}) {
    // A minute is as long as the test says, on a slow machine too.
    const service = { dialect: { rateLimit: true }, clock: () => 1_800_000_000_000 };
    // As is a request, which on such a machine would be sent again.
    const shop = await openShop({ retries: 2, timeout: 60_000, ...options }, service);
    const { sandbox, keyApi } = shop;
    const app = express();
    app.set('trust proxy', 1);
    app.get('/dl', requirePurchase(keyApi), (_req, res) => void res.send('the file'));
    app.use(errorHandler({ log: false }));
    const ask = async (path: string, code = '', from = ONE): Promise<number> => {
      const headers = { 'x-purchase-code': code, 'x-forwarded-for': from };
      return (await request(app).get(path).set(headers)).status;
    };
    const add = () => sandbox.data.addPurchase({ item_id: 1042 }).purchase_code;
    const known = add();
    expect(await ask('/dl', known, '10.1.1.1')).toBe(200);
    return {
      ...{ ...shop, ask, add, known },
      /** A customer whose code is cached, and one who comes for the first time, are served. */
      async expectServed() {
        const served = [await ask('/dl', known, '10.1.1.1'), await ask('/dl', add(), '10.1.1.2')];
        expect(served).toEqual([200, 200]);
      },
    };
  }
  const times = (count: number, run: (n: number) => Promise<number>) =>
    Promise.all(Array.from({ length: count }, (_, n) => run(n)));

  it('is enough for fifteen valid codes at once from one office, and for forty from forty addresses', async () => {
    const { ask, add, expectServed } = await open();
    expect(await times(15, () => ask('/dl', add()))).toEqual(Array(15).fill(200));
    const customers = await times(40, (n) => ask('/dl', add(), `10.2.0.${n}`));
    expect(customers).toEqual(Array(40).fill(200));
    await expectServed();
  });

  it('is enough for codes that the service fails on, from any number of addresses', async () => {
    fakeTimers();
    const rounds = [1, 2, 3].map(async (addresses) => {
      const { ask, sandbox, asked, expectServed } = await open();
      sandbox.faults.at(VALIDATION).errorRate = 1;
      await times(12 * addresses, (n) => ask('/dl', guess(n), `10.4.0.${n % addresses}`));
      sandbox.faults.clear();
      expect(asked(VALIDATION)).toBeLessThanOrEqual(31);
      await expectServed();
    });
    await later(Promise.all(rounds));
  });
});
