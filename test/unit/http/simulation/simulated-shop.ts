import { isMarketgateError, KeyApi } from 'marketgate';
import { KEY } from '../../../support/wire.js';
import { type Behaviour, SimulatedService } from './simulated-service.js';
import type { SimulatedTime } from './simulated-time.js';

/** A shop whose visitors ask about codes of a simulated service. */
export interface Shop {
  readonly time: SimulatedTime;
  readonly service: SimulatedService;
  readonly keyApi: KeyApi;
  /** What becomes of the service from now on. */
  behave: Behaviour;
  /** One visitor with a code that nobody else has. */
  visit(): void;
  /** How the visits ended, in the order in which they did. */
  readonly ends: { readonly at: number; readonly took: number; readonly code: string }[];
}

/** Opens a shop; its service fails at first. */
export function openShop(
  time: SimulatedTime,
  options: object = {},
  behave?: (n: number) => Behaviour,
): Shop {
  const service = new SimulatedService(time.now, behave ?? (() => shop.behave));
  const keyApi = new KeyApi({
    baseUrl: 'https://simulated.test',
    apiKey: KEY,
    cache: false,
    clock: time.now,
    dispatcher: service,
    ...options,
  });
  let visitors = 0;
  const shop: Shop = {
    time,
    service,
    keyApi,
    behave: { answer: '500', after: 20 },
    ends: [],
    visit() {
      const begun = time.now();
      const ended = (code: string): void => {
        shop.ends.push({ at: time.now(), took: time.now() - begun, code });
      };
      keyApi.validatePurchase(`purchase-code-${visitors++}`).then(
        () => ended('positive'),
        (error: unknown) => ended(isMarketgateError(error) ? error.code : String(error)),
      );
    },
  };
  return shop;
}

/** Visitors who come `gap` milliseconds after one another. */
export async function visits(shop: Shop, count: number, gap = 0): Promise<void> {
  for (let n = 0; n < count; n++) {
    shop.visit();
    if (gap > 0) await shop.time.pass(gap);
  }
}

/** Five calls in a row that fail, so that the breaker knows. */
export async function breakIt(shop: Shop): Promise<void> {
  for (let n = 0; n < 5; n++) {
    shop.visit();
    await shop.time.pass(20_000);
  }
}

/** Ways in which a service can be dead. */
export const DEAD: [string, Behaviour][] = [
  ['answers 500 at once', { answer: '500', after: 0 }],
  ['answers 500 after a while', { answer: '500', after: 700 }],
  ['cuts the connection', { answer: 'reset', after: 5 }],
  ['never answers', { answer: 'hang', after: 0 }],
];
