import { errorHandler, loadItem, loadItems } from 'marketgate';
import type { SandboxOptions } from 'marketgate/sandbox';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { countEndings, openShop } from '../../support/shop.js';

describe.each(expressVersions)('loadItems and loadItem on %s', (_version, express) => {
  async function open(sandboxOptions: SandboxOptions = {}) {
    const shop = await openShop({}, sandboxOptions);
    const app = express();
    app.get('/items', loadItems(shop.keyApi));
    app.get('/items/:id', loadItem(shop.keyApi));
    app.get('/by-query', loadItem(shop.keyApi, { id: (req) => req.query.item }));
    app.get(
      '/broken',
      loadItem(shop.keyApi, {
        id: () => {
          throw new Error('mine');
        },
      }),
    );
    const endings = countEndings(app);
    app.use(errorHandler());
    return { ...shop, app, endings };
  }

  it('the whole catalogue is at req.marketplace.items', async () => {
    const { app, sandbox } = await open();
    const answer = await request(app).get('/items').expect(200);
    expect(answer.body.marketplace.items.length).toBeGreaterThan(10);
    expect(answer.body.locals.items[0]).toMatchObject({ id: expect.any(Number) });
    expect(sandbox.requests.at(-1)?.path).toBe('/api/items/all');
  });

  it('an empty catalogue is an empty list', async () => {
    const { app } = await open({ seed: { items: [], purchases: [] } });
    const answer = await request(app).get('/items').expect(200);
    expect(answer.body.marketplace).toEqual({ items: [] });
  });

  it('one item is at req.marketplace.item', async () => {
    const { app } = await open();
    const answer = await request(app).get('/items/1042').expect(200);
    expect(answer.body.marketplace.item).toMatchObject({ id: 1042 });
    await request(app).get('/by-query?item=1042').expect(200);
  });

  it.each([
    ['/items/999999', 404, 'item_not_found'],
    ['/items/abc', 400, 'item_id_invalid'],
    ['/items/1e3', 400, 'item_id_invalid'],
    ['/items/-1', 400, 'item_id_invalid'],
    ['/by-query', 400, 'item_id_invalid'],
    ['/by-query?item=1&item=2', 400, 'item_id_invalid'],
  ])('%s is %d %s', async (path, status, code) => {
    const { app, endings } = await open();
    const answer = await request(app).get(path).expect(status);
    expect(answer.body).toMatchObject({ code, status });
    expect(endings).toEqual({ errors: [expect.objectContaining({ code })], handled: 0 });
  });

  it.each(['/items', '/items/1042'])('%s of a service that is down is 503', async (path) => {
    const { app, sandbox, endings } = await open();
    await sandbox.close();
    expect((await request(app).get(path).expect(503)).body.code).toBe('service_unavailable');
    expect(endings.errors).toHaveLength(1);
  });

  it("an error of the app's own reaches next", async () => {
    const { app, endings } = await open();
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    await request(app).get('/broken').expect(500);
    log.mockRestore();
    expect(endings.errors.map(String)).toEqual(['Error: mine']);
  });
});
