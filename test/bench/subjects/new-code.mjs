// A subject: asks the service about codes that no cache knows.
import { KeyApi } from 'marketgate';
import { codeOf } from '../fixtures/catalogue.mjs';
import { atATime } from './at-a-time.mjs';

const SIDES = {
  byHand(service) {
    const url = `${service}/api/purchases/validation`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return async (code) => {
      const body = new URLSearchParams({ api_key: 'bench', purchase_code: code }).toString();
      const response = await fetch(url, { method: 'POST', headers, body });
      return (await response.json()).data.purchase;
    };
  },
  marketgate(service) {
    const keyApi = new KeyApi({ baseUrl: service, apiKey: 'bench' });
    return (code) => keyApi.validatePurchase(code);
  },
};

/** @param {{ side: keyof SIDES, service: string }} options */
export default async function makeCaller({ side, service }) {
  const ask = SIDES[side](service);
  let last = 1;
  return {
    work: atATime(50, async () => {
      const { item } = await ask(codeOf(++last));
      if (item.id !== 1042) throw new Error('not the answer that was expected');
    }),
    async answer() {
      const { purchase_code, license_type, downloaded, item } = await ask(codeOf(1));
      const { id, name, tags, media, price } = item;
      return { purchase_code, license_type, downloaded, item: { id, name, tags, media, price } };
    },
  };
}
