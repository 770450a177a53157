import { type Documented, type Fact, fact, facts, without } from './fact.js';

/** When the support of the purchase whose support is over ended. */
export const SUPPORT_OVER = '2026-03-01T12:00:00Z';

const field = (record: Documented, name: string): Documented => record[name] as Documented;

/** Fields that are null on some deployments. The caller finds them absent. */
const itemWithoutNulls = (item: Documented): Documented =>
  without(item, 'options', 'version', 'demo_link', 'sub_category');

const accountWithoutNulls = (account: Documented, profile: object = {}): Documented => ({
  ...account,
  profile: {
    ...without(field(account, 'profile'), 'heading', 'description', 'social_links'),
    contact: {},
    ...profile,
  },
});

/** Status, msg and licence are translated: another label, and a "no" as long as its status tells it. */
const localised = (language: string, license_type: string): Fact =>
  fact('localised', language, {
    hidesNoIn: 'words',
    changes: { purchase: (purchase) => ({ ...purchase, license_type }) },
    hides: true,
  });

const outage = (name: string, value: string | boolean): Fact =>
  fact(name, value, { outage: 'service_unavailable' });

/** The key API, switch by switch: the notes about deployments, and what the contract makes of each. */
export const KEY_API_FACTS: readonly Fact[] = [
  fact('errorStatus', 'http'),
  // An answer is judged by its body first.
  fact('errorStatus', 'ok', { hidesNoIn: 'status' }),
  ...facts('capitalisation', false, true),
  fact('localised', false),
  localised('tr', 'Normal'),
  localised('de', 'Standard'),
  ...facts('validationEnvelope', 'data', 'item'),
  ...facts('tagsAsString', false, true),
  fact('nulls', false),
  fact('nulls', true, {
    changes: {
      item: itemWithoutNulls,
      purchase: (purchase) => ({ ...purchase, item: itemWithoutNulls(field(purchase, 'item')) }),
      account: (account) => accountWithoutNulls(account),
      'account with links of null': (account) => accountWithoutNulls(account, { social_links: {} }),
    },
  }),
  ...facts('screenshotsAsObject', false, true),
  ...facts('microseconds', false, true),
  ...facts('numericStrings', false, true),
  fact('supportedUntilPast', false),
  fact('supportedUntilPast', true, {
    changes: {
      'purchase whose support is over': (purchase) => ({
        ...purchase,
        supported_until: SUPPORT_OVER,
      }),
    },
  }),
  fact('singleItemBug', false),
  // That is what the service says.
  fact('singleItemBug', true, { ends: { 'listItems, one item': 'negative' } }),
  fact('rateLimit', 'none', { setting: false }),
  fact('rateLimit', 'within', { setting: true }),
  fact('rateLimit', 'over', { setting: 0, outage: 'service_unavailable' }),
  // The client has a User-Agent of its own.
  ...facts('browserRedirect', false, true),
  fact('apiDisabled', false),
  // "404" alone is not "invalid code".
  fact('apiDisabled', true, { outage: 'unexpected_response' }),
  fact('crash', false),
  outage('crash', 'html'),
  outage('crash', 'json'),
  // The client trims by itself.
  ...facts('trimming', true, false),
  ...facts('validationEncoding', 'form', 'json', 'query'),
];
