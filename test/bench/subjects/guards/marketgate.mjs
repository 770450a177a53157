import { subscribe } from 'node:diagnostics_channel';
import { KeyApi, requirePurchase } from 'marketgate';

let heard = 0;

/** As a user has it, with a condition; `isHeard`: with somebody who listens to what it does. */
export default async ({ service, codes, isHeard = false }) => {
  const keyApi = new KeyApi({ baseUrl: service, apiKey: 'bench' });
  if (isHeard) {
    for (const name of ['lookup', 'guard']) {
      subscribe(`marketgate:${name}`, () => {
        heard++;
      });
    }
  }
  await Promise.all(codes.map((code) => keyApi.validatePurchase(code)));
  if (isHeard && heard === 0) throw new Error('nothing was heard');
  return {
    middleware: requirePurchase(keyApi, {
      item: 1042,
      onDenied: (_denial, _req, res) => res.json({ refused: true }),
    }),
    itemOf: (req) => req.marketplace.purchase.item.id,
  };
};
