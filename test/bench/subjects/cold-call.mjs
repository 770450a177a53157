// A subject: a client that asks the service about a purchase code, and keeps nothing.
import { codeOf } from '../fixtures/catalogue.mjs';
import { atATime } from './at-a-time.mjs';

const PATH = '/api/purchases/validation';

/** @param {{ caller: string, service: string, width?: number }} options */
export default async function makeCaller({ caller, service, width = 50 }) {
  const { default: makeAsk } = await import(`./callers/${caller}.mjs`);
  const ask = await makeAsk({ url: `${service}${PATH}`, origin: service, path: PATH });
  const once = async (number) => {
    const purchase = await ask(codeOf(number));
    if (purchase?.item.id !== 1042) throw new Error(`${caller}: not the answer that was expected`);
  };
  return {
    work: atATime(width, once),
    async answer() {
      const { purchase_code, license_type, downloaded, item } = await ask(codeOf(1));
      const { id, name, tags, media, price } = item;
      return { purchase_code, license_type, downloaded, item: { id, name, tags, media, price } };
    },
  };
}
