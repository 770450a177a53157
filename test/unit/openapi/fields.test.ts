import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { accountRecord } from '../../../src/model/account.js';
import type { Field } from '../../../src/model/fields.js';
import { itemRecord } from '../../../src/model/item.js';
import { purchaseRecord } from '../../../src/model/purchase.js';
import { userInfoRecord } from '../../../src/model/user-info.js';
import { newToken, type Running, start, userInfo } from '../sandbox/support.js';
import { document, readerOf } from './support.js';

/** A schema, with as much of it as this test looks at. */
interface Schema {
  type?: string;
  format?: string;
  const?: string;
  $ref?: string;
  anyOf?: Schema[];
  items?: Schema;
  additionalProperties?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  examples?: unknown[];
}
type Schemas = Record<keyof typeof document.components.schemas, Schema & { properties: object }>;
interface Document {
  readonly components: { readonly schemas: Schemas };
  readonly paths: Record<string, object>;
}
/** A copy, which a test can spoil. */
const copyOf = (original: object): Document => JSON.parse(JSON.stringify(original));

const RECORDS: Partial<Record<keyof Schemas, Field<unknown>>> = {
  Account: accountRecord,
  Item: itemRecord,
  Purchase: purchaseRecord,
  UserInfo: userInfoRecord,
};

const isText = ({ type, format = 'uri', anyOf }: Schema): boolean =>
  anyOf?.every(isText) ?? (type === 'string' && format === 'uri');

/** Which schemas document what is read as each kind. */
const KINDS: Record<string, (schema: Schema) => boolean> = {
  string: isText,
  timestamp: ({ type, format }) => type === 'string' && format === 'date-time',
  date: ({ anyOf = [] }) => anyOf.some(({ format }) => format === 'date') && anyOf.some(isText),
  integer: ({ type }) => type === 'integer',
  number: ({ type }) => type === 'number',
  boolean: ({ type }) => type === 'boolean',
  list: ({ type, items = {} }) => type === 'array' && isText(items),
  object: ({ type, additionalProperties = {} }) =>
    type === 'object' && isText(additionalProperties),
};

/** Where the documented fields differ from those that are read, by name or kind. */
function differences(
  schemas: Schemas,
  at: string,
  schema?: Schema,
  field?: Field<unknown>,
): string[] {
  if (schema === undefined || field === undefined) return [`${at} is on one side only`];
  const { fields, expected } = field;
  if (fields === undefined) return KINDS[expected]?.(schema) ? [] : [`${at} is no ${expected}`];
  const name = schema.$ref?.split('/').at(-1) as keyof Schemas | undefined;
  const { type, properties = {} } = name ? schemas[name] : schema;
  if (type !== 'object') return [`${at} is no object`];
  const names = new Set([...Object.keys(properties), ...Object.keys(fields)]);
  return [...names].flatMap((each) =>
    differences(schemas, `${at}.${each}`, properties[each], fields[each]),
  );
}

/** All examples, each with the place of its schema. */
function examplesIn(value: unknown, at: readonly string[]): [readonly string[], unknown][] {
  if (typeof value !== 'object' || value === null) return [];
  const { examples } = value as Schema;
  const own = Array.isArray(examples) ? examples : [];
  return [
    ...own.map((example): [readonly string[], unknown] => [at, example]),
    ...Object.entries(value).flatMap(([key, inner]) => examplesIn(inner, [...at, key])),
  ];
}

type Answer = Parameters<ReturnType<typeof readerOf>['complaintsAbout']>;

/** What the sandbox says about every account, item, code and user. */
async function answersOf(
  { sandbox, watch, get, validate }: Running,
  ask: (userId: string) => Promise<unknown>,
) {
  const answers: Answer[] = [];
  watch.onAnswer = (method, path, { status, headers, body }) => {
    const [endpoint = ''] = path.split('?');
    const type = headers.get('content-type') ?? '';
    answers.push([method.toLowerCase(), endpoint, status, type, body]);
  };
  for (const { api_key } of sandbox.data.workspaces) {
    for (const path of ['account/details', 'items/all'])
      await get(`/api/${path}?api_key=${api_key}`);
    for (const { id } of sandbox.data.items)
      await get(`/api/items/item?api_key=${api_key}&item_id=${id}`);
    for (const { code } of sandbox.codes) await validate(code, api_key);
  }
  // One who has given nothing of their own accord.
  sandbox.data.addUser({ user_name: 'bare', user_email: 'bare@shop.example' });
  for (const { user_id } of sandbox.data.users) await ask(user_id);
  return answers;
}

let answers: Answer[];
beforeEach(async () => {
  if (answers) return;
  const running = await start();
  answers = await answersOf(running, async (id) => userInfo(running, await newToken(running, id)));
});

/** All that is wrong with a document. */
function faultsOf(whole: Document): string[] {
  const { schemas } = whole.components;
  const { complaints, complaintsAbout } = readerOf(whole);
  return [
    ...Object.entries(RECORDS).flatMap(([name, field]) =>
      differences(schemas, name, schemas[name as keyof Schemas], field),
    ),
    ...examplesIn(schemas, ['components', 'schemas']).flatMap((each) => complaints(...each)),
    ...answers.flatMap((answer) => complaintsAbout(...answer)),
  ];
}

describe('the OpenAPI document', () => {
  it('has the fields that are read, examples that are valid, and all that the sandbox answers', () => {
    expect(answers.length).toBeGreaterThan(50);
    expect(faultsOf(copyOf(document))).toEqual([]);
  });

  it('is of the version of the package', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(document.info.version).toBe(version);
  });

  // biome-ignore format: a table is read by its columns
  it.each<[string, (schemas: Schemas, paths: Document['paths']) => unknown]>([
    ['a birthdate that may not be blank', ({ UserInfo }) => UserInfo.properties.user_birthdate?.anyOf?.pop()],
    ['a website that may not be blank', ({ UserInfo }) => UserInfo.properties.user_website?.anyOf?.pop()],
    ['a field that is missing', ({ Item }) => delete Item.properties.currency],
    ['a field that nobody reads', ({ Account }) => { Account.properties.phone = { type: 'string' }; }],
    ['a price that is text', ({ Purchase }) => { Purchase.properties.price = { type: 'string' }; }],
    ['a user_id that is a number', ({ UserInfo }) => { UserInfo.properties.user_id = { type: 'integer' }; }],
    ['a date that is any text', ({ Purchase }) => delete Purchase.properties.supported_until?.format],
    ['a list that is text', ({ Item }) => { Item.properties.tags = { type: 'string' }; }],
    ['an example of another shape', ({ Item }) => Item.properties.version?.examples?.push('2.3')],
    ['support that every purchase has', ({ Purchase }) => Purchase.required?.push('supported_until')],
    ['screenshots that every item has', ({ Item }) => Item.properties.media?.required?.push('screenshots')],
    ['another word for an error', ({ KeyApiError }) => Object.assign(KeyApiError.properties.status ?? {}, { const: 'fail' })],
    ['an endpoint that is missing', (_schemas, paths) => delete paths['/api/items/item']],
  ])('would fail with %s', (_what, plant) => {
    const spoilt = copyOf(document);
    plant(spoilt.components.schemas, spoilt.paths);
    expect(faultsOf(spoilt)).not.toEqual([]);
  });
});
