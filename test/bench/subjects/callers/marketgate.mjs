import { KeyApi } from 'marketgate';

/** As a user has it: the cache is asked in vain, and keeps and freezes the answer. */
export default async ({ origin }) => {
  const keyApi = new KeyApi({ baseUrl: origin, apiKey: 'bench' });
  return (code) => keyApi.validatePurchase(code);
};
