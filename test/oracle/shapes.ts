/**
 * What the contract lets be read as the documented payload, written from the contract and the
 * specification. `yes`: as documented. `partly`: it is read as well, but not all of it as it was sent:
 * harmless drift is coerced, and optional fields that cannot be read are left out. `no`: a part that the
 * package rests on is missing or cannot be read. `open`: neither text decides, so both readings are right.
 */
export type Reading = 'yes' | 'partly' | 'open' | 'no';

type Rule = (value: unknown) => Reading;
type Fields = Readonly<Record<string, Rule>>;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const own = (object: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

const ORDER: readonly Reading[] = ['yes', 'partly', 'open', 'no'];
const worst = (readings: Iterable<Reading>): Reading =>
  ORDER[Math.max(0, ...[...readings].map((reading) => ORDER.indexOf(reading)))] ?? 'yes';

/** Whatever stands there, the rest is read. */
const optional =
  (rule: Rule): Rule =>
  (value) =>
    value === undefined || rule(value) === 'yes' ? 'yes' : 'partly';

const text: Rule = (value) => (typeof value === 'string' ? 'yes' : 'no');

/** "Ids are strings of digits or safe integers": of other strings nothing is said. */
const id: Rule = (value) => {
  if (typeof value === 'string') return /[^\s\p{C}]/u.test(value) ? 'yes' : 'no';
  return Number.isSafeInteger(value) ? 'partly' : 'no';
};

const whole: Rule = (value) => {
  if (typeof value !== 'string') return Number.isSafeInteger(value) ? 'yes' : 'no';
  return /^\d+$/.test(value) && Number.isSafeInteger(Number(value)) ? 'partly' : 'no';
};

const number: Rule = (value) => (Number.isFinite(value) ? 'yes' : 'no');
const flag: Rule = (value) => (typeof value === 'boolean' ? 'yes' : 'no');
const timestamp: Rule = (value) =>
  typeof value === 'string' && readsAsTimestamp(value) === 'yes' ? 'yes' : 'no';
const texts: Rule = (value) =>
  Array.isArray(value) && value.every((each) => typeof each === 'string') ? 'yes' : 'no';

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * "ISO 8601 (a blank for the T is fine; no zone means UTC), nothing else." `open`: forms of ISO 8601 that
 * nobody has seen a service send.
 */
export function readsAsTimestamp(sent: string): Reading {
  const [, years = '', month = '', day = '', time] =
    /^(\d{4})-(\d\d)-(\d\d)(?:[T ](.+))?$/i.exec(sent.trim()) ?? [];
  const year = Number(years);
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = (DAYS[Number(month) - 1] ?? 0) + (month === '02' && isLeap ? 1 : 0);
  if (Number(day) < 1 || Number(day) > days) return 'no';
  if (time === undefined) return 'yes';
  const isUsual = /^([01]\d|2[0-3])(:[0-5]\d){1,2}(\.\d+)?(Z|[+-](0\d|1[0-4]):?[0-5]\d)?$/i;
  if (isUsual.test(time)) return /^\d\d:\d\d\./.test(time) ? 'open' : 'yes';
  return /^\d\d(:?\d\d(:?\d\d)?)?([.,]\d+)?(Z|[+-]\d\d(:?\d\d)?)?$/i.test(time) ? 'open' : 'no';
}

/** An object that must be there: nothing in it is needed, unless its fields say so. */
const object =
  (fields: Fields): Rule =>
  (value) => {
    const read = isObject(value) ? value : {};
    return worst([
      isObject(value) ? 'yes' : 'partly',
      ...Object.entries(fields).map(([name, rule]) => rule(own(read, name))),
    ]);
  };

const links: Rule = (value) =>
  isObject(value) && worst(Object.values(value).map(text)) === 'yes' ? 'yes' : 'no';

const item: Fields = {
  id: whole,
  name: optional(text),
  description: optional(text),
  category: optional(text),
  sub_category: optional(text),
  options: optional(texts),
  version: optional(text),
  demo_link: optional(text),
  tags: optional(texts),
  media: object({
    thumbnail: optional(text),
    preview_image: optional(text),
    preview_video: optional(text),
    preview_audio: optional(text),
    screenshots: optional(texts),
  }),
  price: optional(object({ regular: optional(number), extended: optional(number) })),
  currency: optional(text),
  published_at: optional(timestamp),
};

/** An item of the catalogue: "name" is among what the list promises. */
export const readsAsItem: Rule = object({
  ...item,
  name: (value) => {
    if (typeof value === 'string') return 'yes';
    if (Number.isFinite(value)) return 'partly';
    // A name that is not one, and not nothing either.
    return typeof value === 'boolean' ? 'open' : 'no';
  },
});

export const readsAsPurchase: Rule = object({
  purchase_code: id,
  license_type: optional(text),
  price: optional(number),
  currency: optional(text),
  // A purchase without an item is one that no guard could judge.
  item: (value) => (isObject(value) ? object(item)(value) : 'no'),
  supported_until: optional(timestamp),
  downloaded: optional(flag),
  date: optional(timestamp),
});

export const readsAsAccount: Rule = object({
  name: object({ firstname: optional(text), lastname: optional(text), full_name: optional(text) }),
  username: id,
  email: optional(text),
  balance: optional(number),
  currency: optional(text),
  profile: object({
    heading: optional(text),
    description: optional(text),
    contact: object({ email: optional(text) }),
    social_links: optional(links),
    media: object({ avatar: optional(text), cover: optional(text) }),
  }),
  registered_at: optional(timestamp),
});

const USER_FIELDS = [
  ...['user_name', 'user_email', 'user_firstname', 'user_lastname', 'user_gender'],
  ...['user_picture', 'user_cover', 'user_verified', 'user_relationship'],
  ...['user_biography', 'user_website'],
];

const dateOrEmpty: Rule = (value) => (value === '' ? 'yes' : timestamp(value));

export const readsAsUser: Rule = object({
  user_id: id,
  user_birthdate: optional(dateOrEmpty),
  user_registered: optional(dateOrEmpty),
  ...Object.fromEntries(USER_FIELDS.map((name) => [name, optional(text)])),
});
