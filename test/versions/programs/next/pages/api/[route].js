// A route of Next's pages API, which Next builds by itself: it gets Node's request and response.
import * as marketgate from 'marketgate';
import { createRouter, expressWrapper } from 'next-connect';
import { Passport } from 'passport';
import { partsOf, routesOf } from '../../../shop.mjs';

const parts = partsOf({ ...marketgate, Passport }, JSON.parse(process.env.SERVICES));
const router = createRouter();
for (const [path, ...handlers] of routesOf(parts)) {
  router.get(`/api${path}`, ...handlers.map(expressWrapper));
}

export const config = { api: { externalResolver: true } };
export default router.handler({
  onError: (error, req, res) => parts.onError(error, req, res, () => res.status(500).end()),
});
