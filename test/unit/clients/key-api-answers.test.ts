import type { KeyApi } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { answerOf, pairsOf } from '../../oracle/answer-row.js';
import {
  KEY_API_ROWS,
  KEY_ENDPOINTS,
  type KeyEndpoint,
  SPELLINGS,
} from '../../oracle/key-api-rows.js';
import { everythingOf, expectError, rejection } from '../../support/errors.js';
import { ACCOUNT, cachedPurchase, keyApiOn } from '../../support/key-api-service.js';
import { json, text } from '../../support/service-in-memory.js';
import { account, CODE, item, KEY, purchase, refusal, success } from '../../support/wire.js';

const CALLS: Record<KeyEndpoint, (client: KeyApi) => Promise<unknown>> = {
  account: (client) => client.getAccount(),
  items: (client) => client.listItems(),
  item: (client) => client.getItem(1042),
  purchase: (client) => client.validatePurchase(CODE),
};
const VALUES = { account, items: [item], item, purchase };

const rows = KEY_API_ROWS.map((row) => [row.name, row] as const);

it.each(rows)('an answer of the key API, %s, ends as the oracle says', async (name, row) => {
  for (const { endpoint, end, status } of pairsOf(row)) {
    const answer = answerOf(row, endpoint, status);
    const { path } = KEY_ENDPOINTS[endpoint];
    const { service, keyApi } = keyApiOn({
      override: (request) => (request.path === path ? answer : json(success({ data: account }))),
    });
    const [result] = await Promise.allSettled([CALLS[endpoint](keyApi)]);
    const at = [endpoint, status];
    if (result.status === 'rejected') {
      const { code, message } = result.reason;
      expect([...at, code]).toEqual([...at, end]);
      expect(message).toMatch(new RegExp(`^(GET|POST) ${path}: `));
      expect(message).toMatch(row.says ?? /./);
    } else if (end === 'negative') {
      expect([...at, result.value]).toEqual([...at, endpoint === 'items' ? [] : null]);
    } else {
      const value = expect.objectContaining(VALUES[endpoint] as object);
      expect([...at, end, result.value]).toEqual([...at, 'positive', value]);
    }
    // An answer that is not positive is a reason to check the key, and a failure to ask how the service is. An empty list is
    // a payload, and what cannot be read says nothing about the key.
    const isPayload = end === 'positive' || name === 'an empty list';
    const isAsked = endpoint === 'account' || !(isPayload || end === 'unexpected_response');
    expect(service.asked(ACCOUNT)).toBe(isAsked ? 1 : 0);
  }
});

describe('an answer to another question', () => {
  it.each(SPELLINGS)('is one with the code %j to %s, or not: %j', async (sent, asked, isAbout) => {
    const answer = json(success({ data: { purchase: { ...purchase, purchase_code: sent } } }));
    const { keyApi } = keyApiOn({ override: () => answer });
    const call = keyApi.validatePurchase(asked);
    if (isAbout) {
      expect((await call)?.purchase_code).toBe(String(sent));
      return;
    }
    // It is not cached, and neither code is in the message.
    const error = await rejection(call);
    expect(error.code).toBe('unexpected_response');
    for (const code of [asked, String(sent)]) {
      expect((await cachedPurchase(keyApi, code)) ?? undefined).toBeUndefined();
      expect(everythingOf(error)).not.toContain(code);
    }
  });

  it('leaves the last purchase of the code itself to serve', async () => {
    const { service, keyApi } = keyApiOn({}, { cache: { ttl: 0, staleWhileRevalidate: 0 } });
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    const other = { ...purchase, purchase_code: CODE.replace('4', '5'), license_type: 'Extended' };
    service.override = () => json(success({ data: { purchase: other } }));
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    await expectError(keyApi.validatePurchase(CODE, { fresh: true }), 'unexpected_response');
  });
});

// As text, because JSON.stringify would write other digits.
it.each(['9007199254740993', '1e999', '1042.00001'])(
  'an id of an item that is %s is unexpected_response, and not another item',
  async (id) => {
    const sent = JSON.stringify(success({ data: { purchase } }));
    const answer = text(sent.replace('"id":1042', `"id":${id}`));
    const { keyApi } = keyApiOn({ override: () => answer });
    const call = keyApi.validatePurchase(CODE);
    await expectError(call, 'unexpected_response', 'data.purchase.item.id: ');
  },
);

it('service_refused carries what the service says, without what was sent to it', async () => {
  const { keyApi } = keyApiOn({ override: () => json(refusal(`no tulip or 7 for ${KEY}`), 400) });
  const says = 'no [redacted] or 7 for [redacted]';
  await expectError(keyApi.validatePurchase('tulip'), 'service_refused');
  expect((await rejection(keyApi.validatePurchase('tulip'))).message).toContain(says);
});
