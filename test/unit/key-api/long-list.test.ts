import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { KeyApi, type KeyApiOptions } from 'marketgate';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Deadline } from '../../../src/http/deadline.js';
import { rejection } from '../../support/errors.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { json, startUpstream } from '../../support/upstream.js';
import { account, item, KEY, purchase, success } from '../../support/wire.js';

const COUNT = 10_000;
const BROKEN = 5000;
const items = Array.from({ length: COUNT }, (_, i) =>
  i === BROKEN ? { ...item, id: 'broken' } : { ...item, id: i, name: `Ferforje kapı ${i}` },
);
const body = JSON.stringify(success({ items }));

async function serving(
  answer: (res: ServerResponse) => unknown,
  options: Partial<KeyApiOptions> = {},
): Promise<KeyApi> {
  const upstream = await startUpstream((request, res) => {
    if (request.path === '/api/items/all') return answer(res);
    const found = request.path === '/api/account/details' ? account : { purchase };
    return json(res, success({ data: found }));
  });
  const keyApi = new KeyApi({ baseUrl: upstream.url, apiKey: KEY, retries: 0, ...options });
  onTestFinished(() => keyApi.close());
  return keyApi;
}

const send = (text: string) => (res: ServerResponse) => res.end(text);

/**
 * Runs something of the test's between two slices. Every look at the clock finds it half a millisecond
 * further than it is, so that there are some 30 slices on a fast machine as well.
 */
function inTurn(run: (deadline: Deadline, n: number) => unknown): { count: () => number } {
  const now = performance.now.bind(performance);
  let ahead = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => {
    ahead += 0.5;
    return now() + ahead;
  });
  const { turn } = Deadline.prototype;
  let n = 0;
  vi.spyOn(Deadline.prototype, 'turn').mockImplementation(async function (this: Deadline) {
    await run(this, n++);
    await turn.call(this);
  });
  return { count: () => n };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a list of 10,000 items', () => {
  it('is read in slices, and is the same as one that is read at once', async () => {
    const dropped: unknown[] = [];
    const listen = (message: unknown): void => void dropped.push(message);
    subscribe('marketgate:drift', listen);
    onTestFinished(() => void unsubscribe('marketgate:drift', listen));
    const turns = inTurn(() => {});
    const keyApi = await serving(send(body));
    const list = await keyApi.listItems();
    expect(list).toEqual(items.filter(({ id }) => id !== 'broken'));
    expect(turns.count()).toBeGreaterThan(20);
    expect(dropped).toEqual([expect.objectContaining({ kind: 'dropped', path: 'items[5000].id' })]);
    expect(await keyApi.getItem(9999)).toBe(list.at(-1));
    expect(await keyApi.listItems()).toBe(list);
  });

  it('of which all drift is read in slices too', async () => {
    const drifting = items.map((each) => ({ ...each, tags: 'a,b', price: null }));
    const turns = inTurn(() => {});
    const keyApi = await serving(send(JSON.stringify(success({ items: drifting }))));
    const list = await keyApi.listItems();
    expect(list).toHaveLength(COUNT - 1);
    expect(list.every(({ tags, price }) => tags?.length === 2 && price === undefined)).toBe(true);
    expect(turns.count()).toBeGreaterThan(20);
  });

  it('does not go on when the caller has left between two slices', async () => {
    const leaving = new AbortController();
    const turns = inTurn((_deadline, n) => n === 3 && leaving.abort());
    const keyApi = await serving(send(body), { cache: false });
    await expect(keyApi.listItems({ signal: leaving.signal })).rejects.toThrow(/abort/i);
    const soFar = turns.count();
    await new Promise(setImmediate);
    expect(soFar).toBe(4);
    expect(turns.count()).toBe(soFar);
  });

  it('does not go on when the time of the call is over between two slices', async () => {
    inTurn(async (deadline, n) => {
      while (n === 3 && !deadline.ended) await new Promise((resolve) => setTimeout(resolve, 5));
    });
    const keyApi = await serving(send(body), { timeout: 2000 });
    const error = await rejection(keyApi.listItems());
    expect(error.code).toBe('service_unavailable');
    expect(error.message).toMatch(/no answer within 2000 ms/);
  });

  it('lets other calls be answered while it is read', async () => {
    let others = 0;
    const keyApi = await serving(send(body));
    await keyApi.validatePurchase('code-number-0');
    inTurn(async () => {
      // Each of them needs turns of its own.
      if (others < 3) await keyApi.validatePurchase(`code-number-${++others}`);
    });
    expect(await keyApi.listItems()).toHaveLength(COUNT - 1);
    expect(others).toBe(3);
  });

  it('is not written whole only to see that it is too long to be shared', async () => {
    const shared = new MemorySharedCache();
    const keyApi = await serving(send(body), { cache: { shared } });
    await keyApi.listItems();
    await keyApi.getAccount();
    await vi.waitFor(() => expect(shared.values.size).toBe(1));
    const written = vi.spyOn(JSON, 'stringify');
    await keyApi.listItems({ fresh: true });
    await vi.waitFor(() => expect(written).toHaveBeenCalled());
    expect(written.mock.results.map(({ value }) => value.length)).not.toContain(body.length);
    expect(written.mock.calls.length).toBeLessThan(COUNT / 2);
    expect(shared.values.size).toBe(1);
  });
});

describe('a short answer', () => {
  it('takes no turn: nothing is gained by waiting', async () => {
    const turns = inTurn(() => {});
    const keyApi = await serving(send(JSON.stringify(success({ items: [item] }))));
    expect(await keyApi.listItems()).toEqual([item]);
    expect(await keyApi.getAccount()).toEqual(account);
    expect(turns.count()).toBe(0);
  });
});

describe('a long answer that is none', () => {
  const page = `<!DOCTYPE html><html>${'<p>Wartung</p>'.repeat(50_000)}</html>`;

  it.each<[string, number, Record<string, string>, string, object]>([
    ['a page', 200, {}, page, { code: 'unexpected_response' }],
    ['an outage', 503, {}, page, { code: 'service_unavailable' }],
    ['a limit', 429, { 'retry-after': '7' }, page, { code: 'service_unavailable', retryAfter: 7 }],
    ['cut', 200, {}, body.slice(0, -1000), { code: 'unexpected_response' }],
    [
      'of items that are none',
      200,
      {},
      JSON.stringify(success({ items: Array(COUNT).fill({ title: 'x'.repeat(50) }) })),
      { code: 'unexpected_response' },
    ],
  ])('is judged as a short one: %s', async (_name, status, headers, text, expected) => {
    const keyApi = await serving((res) => {
      res.writeHead(status, headers);
      res.end(text);
    });
    expect(await rejection(keyApi.listItems())).toMatchObject(expected);
  });

  it.each([
    ['a byte order mark', '\ufeff'],
    ['blank space', ' \r\n\t'],
  ])('%s ahead of a long list is skipped', async (_name, ahead) => {
    const keyApi = await serving(send(ahead + body));
    expect(await keyApi.listItems()).toHaveLength(COUNT - 1);
  });
});
