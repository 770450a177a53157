import { KeyApi } from 'marketgate';

/** The same with the cache, which is asked in vain, and keeps and freezes the answer. */
export default async ({ origin }) => {
  const keyApi = new KeyApi({ baseUrl: origin, apiKey: 'bench' });
  return (code) => keyApi.validatePurchase(code);
};
