import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runProgram } from '../../package/run-program.js';
import { newPath } from '../../support/new-path.js';
import { complaintsAbout, document } from './support.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const REDOCLY = join(ROOT, 'node_modules/@redocly/cli/bin/cli.js');
const CONFIG = fileURLToPath(new URL('./redocly.yaml', import.meta.url));

it('the linter of OpenAPI has nothing against the document', async () => {
  const file = newPath('openapi.json');
  writeFileSync(file, JSON.stringify(document));
  const { code, stdout, stderr } = await runProgram(
    process.execPath,
    [REDOCLY, 'lint', file, '--config', CONFIG],
    {
      cwd: ROOT,
      timeout: 100_000,
      // No news of a new version, no figures about use.
      env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' },
    },
  );
  expect(code, stdout + stderr).toBe(0);
  // With recommended-strict a warning is an error, so this is all of it.
  expect(stdout + stderr).toContain('Your API description is valid');
}, 120_000);

type Json = Readonly<Record<string, unknown>>;
interface Parameter {
  readonly name: string;
  readonly example?: unknown;
}
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Json };
  readonly responses?: Json;
}
const paths = document.paths as unknown as Record<string, Record<string, Operation>>;

// biome-ignore format: a table is read by its columns
it.each<[string, string, string, string, string[]]>([
  ['get', '/api/account/details', '', 'Invalid request', []],
  ['get', '/api/items/all', '', 'No items found', []],
  ['get', '/api/items/item', 'item_id', 'Item Not Found', []],
  ['post', '/api/purchases/validation', 'purchase_code', 'Invalid purchase code', ['application/x-www-form-urlencoded', 'application/json', 'multipart/form-data']],
  ['get', '/api/oauth', 'app_id', '', []],
  ['post', '/api/authorize', '', '', ['application/x-www-form-urlencoded']],
  ['get', '/api/authorize', 'app_id app_secret auth_key', '', []],
  ['get', '/api/get_user_info', '', '', []],
])('%s %s has the query parameters "%s", the error "%s" and the bodies %j', (method, path, names, msg, types) => {
  const { parameters = [], requestBody, responses = {} } = paths[path]?.[method] ?? {};
  expect(parameters.map(({ name }) => name).join(' ')).toBe(names);
  expect(parameters.filter(({ example }) => example === undefined)).toEqual([]);
  expect(Object.keys(requestBody?.content ?? {})).toEqual(types);
  if (msg) expect(JSON.stringify(responses)).toContain(`"value":{"status":"error","msg":"${msg}"}`);
});

it('the document has no other endpoints, and nothing that generators and validators fail on', () => {
  const endpoints = Object.values(paths).flatMap((path) => Object.keys(path));
  expect(endpoints.filter((key) => key !== 'servers')).toHaveLength(8);
  const found: string[] = [];
  const look = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const { type, items, variables } = value as Json;
    if (type === 'array' && items === undefined) found.push(`no items: ${at}`);
    for (const each of Object.values((variables as Json) ?? {})) {
      if (Object.hasOwn(each as object, 'description')) found.push(`a described variable: ${at}`);
    }
    for (const [key, inner] of Object.entries(value)) {
      if (/^\dXX$/.test(key)) found.push(`${key}: ${at}`);
      look(inner, `${at}.${key}`);
    }
  };
  look(document, '');
  expect(found).toEqual([]);
  for (const { servers } of [document, ...Object.values(paths)] as { servers?: Json[] }[]) {
    if (servers) expect(servers[0]?.url).toMatch(/^http:/);
  }
});

describe('the schemas', () => {
  const { Account, Item, Purchase, UserInfo } = document.components.schemas as unknown as Record<
    string,
    { required: string[]; properties: Record<string, Json> }
  >;

  it('require what the specification promises, and nothing that is "not shown"', () => {
    expect(Account?.required).toEqual([
      ...['name', 'username', 'email', 'balance', 'currency', 'profile', 'registered_at'],
    ]);
    expect(Item?.required).toEqual(['id', 'name', 'media']);
    expect(Purchase?.required).toEqual([
      ...['purchase_code', 'license_type', 'price', 'currency', 'item', 'downloaded', 'date'],
    ]);
    expect(UserInfo?.required).toEqual(['user_id', 'user_name', 'user_email']);
    expect(Object.keys(UserInfo?.properties ?? {})).toHaveLength(14);
    expect(Purchase?.properties.item).toMatchObject({ $ref: '#/components/schemas/Item' });
  });

  const item = { id: 1, name: 'a', media: { thumbnail: 'https://a.example/' } };

  it.each([
    ['a price as a string', { status: 'success', item: { ...item, price: { regular: '24.00' } } }],
    ['null for absent', { status: 'success', item: { ...item, version: null } }],
    ['another status', { status: 'erfolgreich', item }],
    ['no payload', { status: 'success' }],
    ['an error without msg', { status: 'error' }],
  ])('refuse %s', (_what, body) => {
    const complaints = (sent: object) =>
      complaintsAbout('get', '/api/items/item', 200, 'application/json', sent);
    expect(complaints({ status: 'success', item: { ...item, new: true }, more: 1 })).toEqual([]);
    expect(complaints(body)).not.toEqual([]);
  });
});
