import { KeyApi } from 'marketgate';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { rejection } from '../../support/errors.js';
import { json, page, startUpstream } from '../../support/upstream.js';
import { CODE, KEY, purchase, success } from '../../support/wire.js';

const open: KeyApi[] = [];
function client(baseUrl: string, options: object = {}): KeyApi {
  const keyApi = new KeyApi({ baseUrl, apiKey: KEY, retries: 0, cache: false, ...options });
  open.push(keyApi);
  return keyApi;
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((keyApi) => keyApi.close()));
});

describe('the connection', () => {
  /** A service that never answers, and how many requests it has on its hands. */
  async function silent() {
    let waiting = 0;
    const upstream = await startUpstream((_req, res) => {
      waiting++;
      res.on('close', () => waiting--);
    });
    const reached = (n: number) =>
      vi.waitFor(() => expect(waiting).toBe(n), { interval: 2, timeout: 40_000 });
    return { upstream, reached };
  }

  it.each([
    ['without a cache', false],
    ['with a cache', {}],
  ])('ends when its last caller has left, not before: %s', async (_name, cache) => {
    const { upstream, reached } = await silent();
    const keyApi = client(upstream.url, { cache });
    const callers = [new AbortController(), new AbortController()];
    const calls = callers.map(({ signal }) =>
      keyApi.validatePurchase(CODE, { signal }).catch((error) => error.message),
    );
    const requests = cache ? 1 : 2;
    await reached(requests);
    callers[0]?.abort(new Error('left'));
    expect(await calls[0]).toBe('left');
    if (!cache) await reached(1);
    callers[1]?.abort(new Error('left too'));
    expect(await calls[1]).toBe('left too');
    await reached(0);
    expect(upstream.requests).toHaveLength(requests);
  });
});

describe('AbortSignal', () => {
  it('ends the wait before a retry', async () => {
    const controller = new AbortController();
    const upstream = await startUpstream((_req, res) => {
      json(res, {}, 500);
      res.on('finish', () => controller.abort());
    });
    const call = client(upstream.url, { retries: 50 }).getAccount({ signal: controller.signal });
    await expect(call).rejects.toThrow(/abort/i);
    expect(upstream.requests).toHaveLength(1);
  });
});

describe('retries', () => {
  it('repeat a read after an HTTP status that may pass, or a cut connection', async () => {
    // Side by side, because each waits before its second try.
    const repeat = async (status: number) => {
      const upstream = await startUpstream((_req, res, n) => {
        if (n > 0) json(res, success({ data: { purchase } }));
        else if (status === 0) res.destroy();
        else page(res, status);
      });
      const found = await client(upstream.url, { retries: 1 }).validatePurchase(CODE);
      return [status, found?.purchase_code, upstream.requests.length];
    };
    const statuses = [500, 502, 503, 504, 408, 425, 0];
    expect(await Promise.all(statuses.map(repeat))).toEqual(
      statuses.map((status) => [status, CODE, 2]),
    );
  });

  it.each([
    ['an HTML page with 200', 200, true],
    ['a refusal', 400, false],
    ['an HTML page with 404', 404, true],
  ])('do not repeat %s: the next try would be no better', async (_name, status, html) => {
    const upstream = await startUpstream((_req, res) =>
      html ? page(res, status) : json(res, { status: 'error', msg: 'Missing' }, status),
    );
    await rejection(client(upstream.url, { retries: 2 }).getAccount());
    expect(upstream.requests).toHaveLength(1);
  });
});
