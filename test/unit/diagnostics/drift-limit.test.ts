import { expect, it, onTestFinished, vi } from 'vitest';
import { hear } from '../../support/hear.js';
import { KeyApiService } from '../../support/key-api-service.js';
import { CODE, item } from '../../support/wire.js';

const coerced = (path: string, expected: string, endpoint = '/api/items/all') => ({
  ...{ endpoint, kind: 'coerced', path, expected },
});
const drifting = { ...item, tags: 'a,b' };

it('drift is reported once for a list whose items all have it, with the first place; another field, kind or endpoint on its own', async () => {
  const items = [{ ...item, id: 6 }, drifting, { ...drifting, id: 7 }];
  const service = new KeyApiService({ items, item: { ...item, version: 2 } });
  const keyApi = service.client({ cache: false });
  const messages = hear('drift');
  expect(await keyApi.listItems()).toHaveLength(3);
  expect(messages).toEqual([coerced('items[1].tags', 'list')]);
  service.items = [
    { ...drifting, version: 2 },
    { ...item, id: 7, tags: [{}] },
  ];
  await keyApi.listItems();
  await keyApi.validatePurchase(CODE);
  expect(messages.slice(1)).toEqual([
    coerced('items[0].version', 'string'),
    { ...coerced('items[1].tags[0]', 'string'), kind: 'dropped' },
    coerced('data.purchase.item.version', 'string', '/api/purchases/validation'),
  ]);
});

it('the same drift is reported again after an hour, and by each client on its own', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(1);
  const service = new KeyApiService({ items: [drifting] });
  const [one, other] = [service.client({ cache: false }), service.client({ cache: false })];
  const messages = hear('drift');
  for (const keyApi of [one, one, other]) await keyApi.listItems();
  expect(messages).toHaveLength(2);
  vi.advanceTimersByTime(3_599_000);
  await one.listItems();
  expect(messages).toHaveLength(2);
  vi.advanceTimersByTime(2000);
  await one.listItems();
  expect(messages).toHaveLength(3);
});
