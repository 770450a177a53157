import { errorHandler, loadItem, requirePurchase } from 'marketgate';
import request from 'supertest';
import { expect, it, vi } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { openShop } from '../../support/shop.js';

const HOUR = 3_600_000;

it.each(expressVersions)(
  'a refunded customer who uses up the quota before each hourly visit gets in once, as without: %s',
  async (_version, express) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    // 60 requests a minute, as the service allows a shop.
    const { keyApi, sandbox, code } = await openShop({}, { dialect: { rateLimit: true } });
    const app = express();
    app.set('trust proxy', 1);
    app.get('/items/:id', loadItem(keyApi), (_req, res) => void res.end());
    app.get('/files', requirePurchase(keyApi), (_req, res) => void res.end());
    app.use(errorHandler({ log: false }));
    const get = (path: string, from: string) =>
      request(app)
        .get(path)
        .set({ 'x-forwarded-for': from, 'x-purchase-code': code('supported') });

    let made = 900_000;
    const visits: number[] = [];
    for (let hour = 0; hour < 4; hour++) {
      for (let i = 0; i < 62; i++) await get(`/items/${made++}`, `203.0.113.${i % 6}`);
      visits.push((await get('/files', '198.51.100.7')).status);
      if (hour === 0) sandbox.data.refundPurchase(code('supported'));
      vi.setSystemTime(Date.now() + HOUR);
      // The refresh behind a visit has its answer.
      await vi.waitFor(() => expect(sandbox.requests.every(({ isOpen }) => !isOpen)).toBe(true));
    }
    // The first before the refund, the second while the first stale answer is refreshed.
    expect(visits).toEqual([200, 200, ...Array(2).fill(403)]);
  },
);
