import { asSpecified, type Documented, type Fact, without } from './fact.js';

const field = (record: Documented, name: string): Documented => record[name] as Documented;

/** Fields that the notes say are null on some deployments. The caller finds them absent. */
const itemWithoutNulls = (item: Documented): Documented =>
  without(item, 'options', 'version', 'demo_link', 'sub_category');

/**
 * The key API, switch by switch: the notes about deployments, and what the contract makes of each. The
 * first fact of a switch is where it stands by itself.
 */
export const KEY_API_FACTS: readonly Fact[] = [
  {
    ...asSpecified('errorStatus', 'http'),
    seen: 'as specified',
    caller: 'the no, told by its words and by its status',
  },
  {
    name: 'errorStatus',
    value: 'ok',
    seen: 'every documented error with HTTP 200',
    caller: 'the same no: an answer is judged by its body first',
    hidesNoIn: 'status',
  },

  asSpecified('capitalisation', false),
  {
    name: 'capitalisation',
    value: true,
    seen: '"No Items Found" beside "No items found"',
    caller: 'the same no: letter case is ignored',
  },

  asSpecified('localised', false),
  {
    name: 'localised',
    value: 'tr',
    seen: "status, msg and license_type translated to the site's language",
    caller: 'the payload; the no as long as its status tells it; another label for the licence',
    hidesNoIn: 'words',
    changes: { purchase: (purchase) => ({ ...purchase, license_type: 'Normal' }) },
    hides: true,
  },
  {
    name: 'localised',
    value: 'de',
    seen: "status, msg and license_type translated to the site's language",
    caller: 'the payload; the no as long as its status tells it; another label for the licence',
    hidesNoIn: 'words',
    changes: { purchase: (purchase) => ({ ...purchase, license_type: 'Standard' }) },
    hides: true,
  },

  asSpecified('validationEnvelope', 'data'),
  {
    name: 'validationEnvelope',
    value: 'item',
    seen: 'validation answers {status, item: Purchase} instead of {status, data: {purchase}}',
    caller: 'the same purchase',
  },

  asSpecified('tagsAsString', false),
  {
    name: 'tagsAsString',
    value: true,
    seen: 'tags is "a,b,c"',
    caller: 'the same list of tags',
  },

  asSpecified('nulls', false),
  {
    name: 'nulls',
    value: true,
    seen: 'options, version, demo_link, sub_category, heading, description, contact.email, social_links or its values are null',
    caller: 'absent where null was sent: these fields are optional in the types',
    changes: {
      item: itemWithoutNulls,
      purchase: (purchase) => ({ ...purchase, item: itemWithoutNulls(field(purchase, 'item')) }),
      account: (account) => {
        const profile = field(account, 'profile');
        return {
          ...account,
          profile: { ...without(profile, 'heading', 'description', 'social_links'), contact: {} },
        };
      },
      'account with links of null': (account) => {
        const profile = field(account, 'profile');
        return {
          ...account,
          profile: { ...without(profile, 'heading', 'description'), contact: {}, social_links: {} },
        };
      },
    },
  },

  asSpecified('screenshotsAsObject', false),
  {
    name: 'screenshotsAsObject',
    value: true,
    seen: 'screenshots is {"0": url, "1": url} or null',
    caller: 'the same list, or absent where the item has none',
  },

  asSpecified('microseconds', false),
  {
    name: 'microseconds',
    value: true,
    seen: 'timestamps 2020-02-18T07:42:08.000000Z',
    caller: 'the same instants, as strings that Date reads',
  },

  asSpecified('numericStrings', false),
  {
    name: 'numericStrings',
    value: true,
    seen: 'prices and balances as strings on some databases',
    caller: 'the same numbers',
  },

  asSpecified('supportedUntilPast', false),
  {
    name: 'supportedUntilPast',
    value: true,
    seen: 'supported_until is present also when already past: the reader must compare',
    caller: 'supported_until as it is, in the past',
    changes: {
      'purchase whose support is over': (purchase) => ({
        ...purchase,
        supported_until: SUPPORT_OVER,
      }),
    },
  },

  asSpecified('singleItemBug', false),
  {
    name: 'singleItemBug',
    value: true,
    seen: 'items/all answers "No items found" when there is exactly one item',
    caller: 'an empty list: that is what the service says',
    ends: { 'listItems, one item': 'no' },
  },

  asSpecified('rateLimit', 'none'),
  {
    name: 'rateLimit',
    value: 'within',
    setting: true,
    seen: '60 requests a minute per client IP',
    caller: 'nothing, while there are fewer',
  },
  {
    name: 'rateLimit',
    value: 'over',
    setting: 0,
    seen: '429 with Retry-After and X-RateLimit-*, body HTML (or {message}), not {status,msg}',
    caller: 'that it could not be found out, and when to ask again',
    outage: 'service_unavailable',
  },

  asSpecified('browserRedirect', false),
  {
    name: 'browserRedirect',
    value: true,
    seen: 'a User-Agent that contains Mozilla, Chrome, Firefox, Edge or Opera is redirected to the HTML home page',
    caller: 'nothing: the client has a User-Agent of its own',
  },

  asSpecified('apiDisabled', false),
  {
    name: 'apiDisabled',
    value: true,
    seen: 'plain 404 HTML page on every path: "404" alone is not "invalid code"',
    caller: 'that it could not be found out',
    outage: 'unexpected_response',
  },

  asSpecified('crash', false),
  {
    name: 'crash',
    value: 'html',
    seen: '500 HTML page',
    caller: 'that it could not be found out',
    outage: 'service_unavailable',
  },
  {
    name: 'crash',
    value: 'json',
    seen: '500 {message}',
    caller: 'that it could not be found out',
    outage: 'service_unavailable',
  },

  {
    ...asSpecified('trimming', true),
    seen: 'codes with blanks around are trimmed by the service; a blank code is "missing" (400)',
    caller: 'the purchase, also with blanks around its code; a blank code is never sent',
  },
  {
    name: 'trimming',
    value: false,
    seen: 'as specified',
    caller: 'the same: the client trims by itself',
  },

  asSpecified('validationEncoding', 'form'),
  {
    name: 'validationEncoding',
    value: 'json',
    seen: 'validation reads its parameters from form, JSON or query',
    caller: 'the same answers',
  },
  {
    name: 'validationEncoding',
    value: 'query',
    seen: 'validation reads its parameters from form, JSON or query',
    caller: 'the same answers',
  },
];

/** When the support of the purchase whose support is over ended. */
export const SUPPORT_OVER = '2026-03-01T12:00:00Z';
