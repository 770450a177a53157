import { KeyApi } from 'marketgate';

/** The client alone: deadline, cap, retries, breaker, judging and validation on, nothing kept. */
export default async ({ origin }) => {
  const keyApi = new KeyApi({ baseUrl: origin, apiKey: 'bench', cache: false });
  return (code) => keyApi.validatePurchase(code);
};
