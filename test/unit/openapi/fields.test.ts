import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { accountRecord } from '../../../src/model/account.js';
import type { Field } from '../../../src/model/fields.js';
import { itemRecord } from '../../../src/model/item.js';
import { purchaseRecord } from '../../../src/model/purchase.js';
import { userInfoRecord } from '../../../src/model/user-info.js';
import document from '../../../src/openapi.json' with { type: 'json' };
import { type Answer, exchange, start } from '../sandbox/support.js';

/** A schema, with as much of it as this test looks at. */
interface Schema {
  type?: string;
  format?: string;
  $ref?: string;
  anyOf?: Schema[];
  items?: Schema;
  additionalProperties?: Schema;
  properties?: Record<string, Schema>;
}
const schemas = document.components.schemas as unknown as Record<string, Schema>;

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
function differences(at: string, schema?: Schema, field?: Field<unknown>): string[] {
  if (schema === undefined || field === undefined) return [`${at} is on one side only`];
  const { fields, expected } = field;
  if (fields === undefined) return KINDS[expected]?.(schema) ? [] : [`${at} is no ${expected}`];
  const named = schema.$ref && schemas[schema.$ref.split('/').at(-1) ?? ''];
  const { type, properties = {} } = named || schema;
  if (type !== 'object') return [`${at} is no object`];
  const names = new Set([...Object.keys(properties), ...Object.keys(fields)]);
  return [...names].flatMap((each) => differences(`${at}.${each}`, properties[each], fields[each]));
}

const ajv = new Ajv2020({
  ...{ strict: true, strictRequired: false, allowUnionTypes: true, allErrors: true },
});
// The namespace and the function share a name in its CommonJS build.
(ajvFormats as unknown as (ajv: Ajv2020) => void)(ajv);
ajv.addVocabulary(['openapi', 'info', 'servers', 'tags', 'paths', 'components', 'example']);
ajv.addSchema(document, 'openapi');

interface Operation {
  readonly responses: Readonly<Record<string, { content?: Record<string, unknown> }>>;
}
const paths = document.paths as unknown as Record<string, Record<string, Operation>>;

/** What is wrong with an answer of the service, as a reader of the document would find. */
function complaintsAbout(
  method: string,
  path: string,
  { status, headers, body }: Pick<Answer, 'status' | 'headers'> & { body: object },
): string[] {
  const { responses = {} } = paths[path]?.[method] ?? {};
  const key = String(status) in responses ? String(status) : 'default';
  const [type = ''] = headers.get('content-type')?.split(';') ?? [];
  if (responses[key]?.content?.[type] === undefined) return [`${path} ${key} has no ${type}`];
  if (type !== 'application/json') return [];
  const place = ['paths', path, method, 'responses', key, 'content', type, 'schema'];
  const validate = ajv.getSchema(
    `openapi#/${place.map((part) => part.replaceAll('/', '~1')).join('/')}`,
  );
  if (validate?.(body)) return [];
  return [`${path} ${key}: ${ajv.errorsText(validate?.errors)}`];
}

describe('the OpenAPI document', () => {
  it.each<[string, Field<unknown>]>([
    ['Account', accountRecord],
    ['Item', itemRecord],
    ['Purchase', purchaseRecord],
    ['UserInfo', userInfoRecord],
  ])('has the fields that are read of an %s', (name, field) => {
    expect(differences(name, schemas[name], field)).toEqual([]);
  });

  it('has all that the sandbox answers, errors too', async () => {
    const running = await start();
    const { sandbox, apiKey, get, validate } = running;
    const complaints: string[] = [];
    const ask = async (path: string, answer: Answer | Promise<Answer> = get(path)) => {
      const [endpoint = ''] = path.split('?');
      const method = /authorize|validation/.test(path) ? 'post' : 'get';
      complaints.push(...complaintsAbout(method, endpoint, await answer));
    };
    for (const key of [...sandbox.data.workspaces.map(({ api_key }) => api_key), 'wrong', '']) {
      await ask(`/api/account/details?api_key=${key}`);
      await ask(`/api/items/all?api_key=${key}`);
      await ask(`/api/items/item?item_id=1042&api_key=${key}`);
    }
    for (const code of [...sandbox.codes.map(({ code }) => code), 'wrong', '']) {
      await ask('/api/purchases/validation', validate(code, apiKey));
    }
    // One who has given nothing of their own accord.
    sandbox.data.addUser({ user_name: 'bare', user_email: 'bare@shop.example' });
    for (const { user_id } of sandbox.data.users) {
      const authKey = sandbox.acceptLogin(user_id).slice(-32);
      const answer = await exchange(running, authKey);
      await ask('/api/authorize', answer);
      await ask('/api/authorize', exchange(running, authKey));
      await ask(`/api/get_user_info?access_token=${answer.body.access_token}`);
    }
    await ask('/api/get_user_info?access_token=wrong');
    await ask('/api/oauth?app_id=wrong');
    expect(complaints).toEqual([]);
  });

  it('takes fields that are new, and no other type, null or answer', () => {
    const complaints = (body: object) => {
      const headers = new Headers({ 'content-type': 'application/json' });
      return complaintsAbout('get', '/api/items/item', { status: 200, headers, body });
    };
    const item = { id: 1, name: 'a', media: { thumbnail: 'https://a.example/' } };
    const found = (more: object) => complaints({ status: 'success', item: { ...item, ...more } });
    expect(found({ new: true })).toEqual([]);
    for (const wrong of [
      ...[found({ price: { regular: '24.00' } }), found({ version: null })],
      ...[complaints({ status: 'erfolgreich', item }), complaints({ status: 'success' })],
    ]) {
      expect(wrong).not.toEqual([]);
    }
  });
});
