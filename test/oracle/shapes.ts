/**
 * What the contract lets be read as the documented payload, written from the contract and the
 * specification. `yes`: documented, or with drift that is listed as harmless (null for absent, "a,b"
 * for a list, a numbered object for a list, digits in a string for a number). `no`: a part that the
 * package rests on is missing, or a value is of a kind that nothing listed explains. `open`: neither
 * text decides, so both readings are right.
 */
export type Reading = 'yes' | 'open' | 'no';

type Rule = (value: unknown) => Reading;
type Fields = Readonly<Record<string, Rule>>;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

function worst(readings: Iterable<Reading>): Reading {
  let result: Reading = 'yes';
  for (const reading of readings) {
    if (reading === 'no') return 'no';
    if (reading === 'open') result = 'open';
  }
  return result;
}

/** Nothing at all is as good as absent; an empty text in its place, where text is not wanted, is open. */
const optional =
  (rule: Rule): Rule =>
  (value) => {
    if (isAbsent(value)) return 'yes';
    const reading = rule(value);
    return value === '' && reading === 'no' ? 'open' : reading;
  };

const text: Rule = (value) => {
  if (typeof value === 'string') return 'yes';
  return typeof value === 'number' || typeof value === 'boolean' ? 'open' : 'no';
};

/** What must be there and say something. */
const id: Rule = (value) => {
  if (typeof value === 'string') return value === '' ? 'no' : 'yes';
  return typeof value === 'number' || typeof value === 'boolean' ? 'open' : 'no';
};

const number: Rule = (value) => {
  if (typeof value === 'number') return Number.isFinite(value) ? 'yes' : 'open';
  if (typeof value !== 'string') return typeof value === 'boolean' ? 'open' : 'no';
  return /^-?\d{1,15}(\.\d{1,10})?$/.test(value) ? 'yes' : 'open';
};

const whole: Rule = (value) => {
  if (typeof value === 'number') {
    if (!Number.isFinite(value) || !Number.isInteger(value)) return 'no';
    return Number.isSafeInteger(value) ? 'yes' : 'open';
  }
  if (typeof value !== 'string') return 'no';
  return /^\d{1,15}$/.test(value) ? 'yes' : 'open';
};

const flag: Rule = (value) => {
  if (typeof value === 'boolean') return 'yes';
  return typeof value === 'number' || typeof value === 'string' ? 'open' : 'no';
};

const timestamp: Rule = (value) => {
  if (typeof value !== 'string') return text(value);
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value) && !Number.isNaN(Date.parse(value))
    ? 'yes'
    : 'open';
};

const texts: Rule = (value) => {
  if (typeof value === 'string') return 'yes';
  if (Array.isArray(value))
    return worst(value.map((each) => (each === null ? 'open' : text(each))));
  if (!isObject(value)) return 'no';
  const isNumbered = Object.keys(value).every((key, i) => key === String(i));
  return isNumbered ? worst([texts(Object.values(value)), 'yes']) : 'open';
};

/** An object; nothing, or PHP's empty map, in its place is left open. */
const object =
  (fields: Fields): Rule =>
  (value) => {
    if (isAbsent(value) || (Array.isArray(value) && value.length === 0)) return 'open';
    if (!isObject(value)) return 'no';
    return worst(
      Object.entries(fields).map(([name, rule]) =>
        rule(Object.hasOwn(value, name) ? value[name] : undefined),
      ),
    );
  };

const links: Rule = (value) => {
  if (Array.isArray(value) && value.length === 0) return 'open';
  if (!isObject(value)) return 'no';
  // A name that nobody should read, whatever stands under it.
  const { ['__proto__']: odd, ...others } = value;
  const reading = worst(Object.values(others).map(optional(text)));
  return odd !== undefined && Object.hasOwn(value, '__proto__')
    ? worst([reading, 'open'])
    : reading;
};

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
  published_at: optional(text),
};

/** An item of the catalogue: "name" is among what the list promises. */
export const readsAsItem: Rule = object({
  ...item,
  name: (value) => (isAbsent(value) ? 'no' : text(value)),
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
  date: optional(text),
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
  registered_at: optional(text),
});

const USER_FIELDS = [
  ...[
    'user_name',
    'user_email',
    'user_firstname',
    'user_lastname',
    'user_gender',
    'user_birthdate',
  ],
  ...['user_picture', 'user_cover', 'user_registered', 'user_verified', 'user_relationship'],
  ...['user_biography', 'user_website'],
];

export const readsAsUser: Rule = object({
  user_id: id,
  ...Object.fromEntries(USER_FIELDS.map((name) => [name, optional(text)])),
});
