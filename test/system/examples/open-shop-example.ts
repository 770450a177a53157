import { createApp } from '../../../examples/shop/app.js';
import { Browser } from '../../support/browser.js';
import { openShop } from '../../support/shop.js';

/** Opens `examples/shop` on a sandbox, until the test is over. */
export async function openShopExample(
  options: { production?: boolean; seed?: object; host?: string } = {},
) {
  const { production = false, seed, host } = options;
  const shop = await openShop({}, seed && { seed });
  const { keyApi, loginApi, baseUrl } = shop;
  /** What the app reported to the operator. */
  const failures: unknown[] = [];
  const app = createApp({
    ...{ keyApi, loginApi, production },
    mediaOrigin: new URL(baseUrl).origin,
    buyUrl: ({ id }) => `https://market.example/items/${id}`,
    sessionSecret: 'for-the-tests-only-0123456789abcdef',
    onError: (error) => failures.push(error),
  });
  const origin = await shop.serve(app, host);
  const browser = new Browser();
  return {
    ...{ ...shop, origin, browser, failures },
    page: (path: string) => browser.open(`${origin}${path}`),
    logIn: () => browser.logIn(`${origin}/login`, '3001'),
    redeem: (purchase_code: string) => browser.submit(`${origin}/redeem`, { purchase_code }),
  };
}

export type ShopExample = Awaited<ReturnType<typeof openShopExample>>;
