import { KeyApi } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { answerOf } from '../../oracle/answer-row.js';
import {
  KEY_API_ROWS,
  KEY_ENDPOINTS,
  type KeyEndpoint,
  SPELLINGS,
} from '../../oracle/key-api-rows.js';
import { everythingOf, expectError, rejection } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { ACCOUNT, KeyApiService, keyApiOn } from '../../support/key-api-service.js';
import { json, ServiceInMemory, text } from '../../support/service-in-memory.js';
import { account, CODE, item, KEY, purchase, refusal, success } from '../../support/wire.js';

const CALLS: Record<KeyEndpoint, (client: KeyApi) => Promise<unknown>> = {
  account: (client) => client.getAccount(),
  items: (client) => client.listItems(),
  item: (client) => client.getItem(1042),
  purchase: (client) => client.validatePurchase(CODE),
};
const VALUES = { account, items: [item], item, purchase };

const options = { baseUrl: 'https://market.example', apiKey: KEY, retries: 0 };

/** The one negative answer that needs no check of the key: it is a payload. */
const EMPTY = 'an empty list';

const cells = KEY_API_ROWS.flatMap(({ name, ...row }) =>
  Object.entries(row.ends).map(
    ([endpoint, end]) => [name, endpoint as KeyEndpoint, end, { name, ...row }] as const,
  ),
);

it.each(cells)('an answer of the key API, %s: %s is %s', async (_name, endpoint, end, row) => {
  for (const status of row.statuses) {
    const answer = answerOf(row, endpoint, status);
    const { path } = KEY_ENDPOINTS[endpoint];
    // Before a negative answer is believed, the key is checked: the service knows it.
    const service = new ServiceInMemory((request) =>
      request.path === path ? answer : json(success({ data: account })),
    );
    const client = new KeyApi({ ...options, dispatcher: service });
    const result = await CALLS[endpoint](client).then(
      (value) => ({ value }),
      (error) => ({ error }),
    );
    if ('error' in result) {
      expect([result.error.code, status]).toEqual([end, status]);
      expect(result.error.message).toMatch(new RegExp(`^(GET|POST) ${path}: `));
      expect(result.error.message).toMatch(row.says ?? /./);
    } else {
      expect(['positive', 'negative']).toContain(end);
      if (end === 'positive') expect(result.value).toMatchObject(VALUES[endpoint]);
      else expect(result.value).toEqual(endpoint === 'items' ? [] : null);
    }
    // Only a negative answer is a reason to check the key.
    const checks = endpoint === 'account' ? 1 : end === 'negative' && row.name !== EMPTY ? 1 : 0;
    expect(service.count(ACCOUNT)).toBe(checks);
  }
});

describe('an answer to another question', () => {
  it.each(SPELLINGS)('the code %j in the answer to %s', async (sent, asked, isAbout) => {
    const answer = json(success({ data: { purchase: { ...purchase, purchase_code: sent } } }));
    for (const cache of [false, {}] as const) {
      const { keyApi } = keyApiOn({ override: () => answer }, { cache });
      const asking = () =>
        keyApi.validatePurchase(asked).then(
          (found) => found?.purchase_code,
          (error) => error.code,
        );
      expect(await asking()).toBe(isAbout ? String(sent) : 'unexpected_response');
      if (isAbout) continue;
      // It is not cached, and not told: neither code is in the message.
      expect(keyApi.peekPurchase(asked)).toBeUndefined();
      expect(keyApi.peekPurchase(String(sent))).toBeUndefined();
      const said = everythingOf(await rejection(keyApi.validatePurchase(asked)));
      expect(said).not.toContain(asked);
      expect(said).not.toContain(purchase.purchase_code);
    }
  });

  it.each([7, '7', 1042.5, 0, -1042])('the item %j in the answer to 1042', async (id) => {
    for (const cache of [false, {}] as const) {
      const service = new KeyApiService();
      service.override = () => json(success({ item: { ...item, id } }));
      const keyApi = service.client({ cache });
      await expectError(keyApi.getItem(1042), 'unexpected_response');
      await expectError(keyApi.getItem('1042'), 'unexpected_response');
    }
  });

  it('is no positive answer, and the last one of the code itself still serves', async () => {
    const { service, keyApi } = keyApiOn({}, { cache: { ttl: 0, staleWhileRevalidate: 0 } });
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    const other = { ...purchase, purchase_code: CODE.replace('4', '5'), license_type: 'Extended' };
    service.override = () => json(success({ data: { purchase: other } }));
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    const fresh = rejection(keyApi.validatePurchase(CODE, { fresh: true }));
    expect((await fresh).code).toBe('unexpected_response');
  });

  it('is none in the diagnostics either', async () => {
    const requests = hear<{ code?: string }>('request');
    const service = new KeyApiService();
    service.override = () => json(success({ item: { ...item, id: 7 } }));
    await rejection(service.client().getItem(1042));
    expect(requests).toMatchObject([{ code: 'unexpected_response' }]);
  });
});

// As text, because JSON.stringify would write other digits.
it.each(['9007199254740993', '1e999', '-1e999', '1042.00001', '"seven"'])(
  'an item whose id cannot be read, or is beyond what JSON numbers can hold, is unexpected_response, and not another one: %s',
  async (id) => {
    const service = new KeyApiService();
    const sent = JSON.stringify(success({ data: { purchase } }));
    service.override = () => text(sent.replace('"id":1042', `"id":${id}`));
    const error = await rejection(service.client().validatePurchase(CODE));
    expect(error.code).toBe('unexpected_response');
    expect(error.message).toContain('data.purchase.item.id: ');
    expect(error.message).not.toContain(id.replaceAll('"', ''));
  },
);

it.each<[string, (client: KeyApi) => Promise<unknown>, string]>([
  ['a code', (client) => client.validatePurchase('tulip'), 'no [redacted] or 7 for [redacted]'],
  ['an item', (client) => client.getItem(7), 'no tulip or 7 for [redacted]'],
])('the error of a refusal of %s carries what it says, redacted', async (_name, ask, said) => {
  const sent = json(refusal(`no tulip or 7 for ${KEY}`), 400);
  const service = new KeyApiService({ override: () => sent });
  const { message } = await rejection(ask(service.client()));
  expect(message).toContain(said);
});
