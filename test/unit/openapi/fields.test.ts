import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
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

describe('the OpenAPI document', () => {
  const { schemas } = document.components as unknown as { schemas: Schemas };
  const { complaints, complaintsAbout } = readerOf(document);

  it.each(Object.entries(RECORDS))('has the fields that are read of an %s', (name, field) => {
    expect(differences(schemas, name, schemas[name as keyof Schemas], field)).toEqual([]);
  });

  it('has examples that are valid', () => {
    const examples = examplesIn(schemas, ['components', 'schemas']);
    expect(examples.length).toBeGreaterThan(20);
    expect(examples.flatMap((example) => complaints(...example))).toEqual([]);
  });

  it('has all that the sandbox answers', async () => {
    const running = await start();
    const user = async (id: string) => userInfo(running, await newToken(running, id));
    const answers = await answersOf(running, user);
    expect(answers.length).toBeGreaterThan(50);
    expect(answers.flatMap((answer) => complaintsAbout(...answer))).toEqual([]);
  });

  it('is of the version of the package', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(document.info.version).toBe(version);
  });
});
