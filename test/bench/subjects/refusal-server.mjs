// A subject: an Express app that refuses every visitor before the service is asked, and one that does so by hand.
import express from 'express';
import { LRUCache } from 'lru-cache';
import { KeyApi, requirePurchase } from 'marketgate';
import { listenOn } from './listen-on.mjs';

/** Codes that the service does not know, and codes that it is never asked about. */
export const WRONG = Array.from({ length: 200 }, (_, i) => `wrong-code-number-${i}`);
export const NEVER_ASKED = Array.from({ length: 200 }, (_, i) => `code-never-asked-${i}`);

const HOUR = 3_600_000;

/**
 * What each refusal needs before, and how the check by hand finds it.
 * @type {Record<number, { prepare: (keyApi: KeyApi, service: string) => Promise<unknown>, byHand: () => (req: object) => boolean }>}
 */
const REFUSALS = {
  403: {
    prepare: (keyApi) => Promise.all(WRONG.map((code) => keyApi.validatePurchase(code))),
    byHand() {
      const known = new LRUCache({ max: 5000, ttl: HOUR });
      for (const code of WRONG) known.set(code, false);
      return (req) => known.get(req.headers['x-purchase-code']) === false;
    },
  },
  429: {
    prepare: async () => {},
    byHand() {
      const attempts = new LRUCache({ max: 5000, ttl: HOUR });
      attempts.set('::ffff:127.0.0.1', 10).set('127.0.0.1', 10);
      return (req) => attempts.get(req.ip) >= 10;
    },
  },
  503: {
    prepare: (keyApi) => keyApi.validatePurchase('code-that-is-limited').catch(() => {}),
    byHand() {
      const closedUntil = performance.now() + HOUR;
      return () => performance.now() < closedUntil;
    },
  },
};

/** @param {{ service: string, status: 403 | 429 | 503 }} options */
export default async function makeServer({ service, status }) {
  const { prepare, byHand } = REFUSALS[status];
  const keyApi = new KeyApi({ baseUrl: service, apiKey: 'bench', cache: { invalidTtl: HOUR } });
  await prepare(keyApi);
  const isRefused = byHand();
  const refuseByHand = (req, res, next) => {
    if (!isRefused(req)) return next();
    res.setHeader('Cache-Control', 'no-store');
    const error = new Error('this purchase code is refused, and the message says why');
    return next(Object.assign(error, { status, ...(status !== 403 && { retryAfter: 60 }) }));
  };
  const { url } = await serve(requirePurchase(keyApi), status);
  const { url: byHandUrl } = await serve(refuseByHand, status);
  if (status === 429) {
    for (const code of WRONG.slice(0, 10)) {
      await fetch(url(), { headers: { 'x-purchase-code': code, connection: 'close' } });
    }
  }
  return { url, byHandUrl };
}

/** Answers a refusal with 200, which the load generator expects, and anything else with 500. */
function serve(guard, status) {
  const app = express();
  app.get('/download', guard, (_req, res) => res.status(500).json({ refused: false }));
  app.use((error, _req, res, _next) => {
    if (error.status === status && error.retryAfter) res.set('Retry-After', error.retryAfter);
    res.status(error.status === status ? 200 : 500).json({ refused: true });
  });
  return listenOn(app, '/download');
}
