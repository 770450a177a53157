import { KeyApi, requirePurchase } from 'marketgate';

/** As a user has it, with a condition. */
export default async ({ service, codes }) => {
  const keyApi = new KeyApi({ baseUrl: service, apiKey: 'bench' });
  await Promise.all(codes.map((code) => keyApi.validatePurchase(code)));
  return {
    middleware: requirePurchase(keyApi, {
      item: 1042,
      onDenied: (_denial, _req, res) => res.json({ refused: true }),
    }),
    itemOf: (req) => req.marketplace.purchase.item.id,
  };
};
