import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../src/openapi/document.js';
import { runProgram } from '../../package/run-program.js';
import { newPath } from '../../support/new-path.js';
import { complaintsAbout, document } from './support.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const REDOCLY = join(ROOT, 'node_modules/@redocly/cli/bin/cli.js');
const CONFIG = fileURLToPath(new URL('./redocly.yaml', import.meta.url));

/** The document in a file, until the test is over. */
function fileWith(content: object): string {
  const file = newPath('openapi.json');
  writeFileSync(file, JSON.stringify(content));
  return file;
}

const lint = (file: string) =>
  runProgram(process.execPath, [REDOCLY, 'lint', file, '--config', CONFIG], {
    cwd: ROOT,
    timeout: 100_000,
    // Neither news of a new version nor figures about use are any of its business here.
    env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' },
  });

describe('the linter of OpenAPI', () => {
  it('has nothing against the document', async () => {
    const { code, stdout, stderr } = await lint(fileWith(document));
    expect(code, stdout + stderr).toBe(0);
    // With recommended-strict a warning is an error, so this is all of it.
    expect(stdout + stderr).toContain('Your API description is valid');
  }, 120_000);

  it('would complain if there were something', async () => {
    const broken = structuredClone(document) as {
      components: { schemas: Record<string, unknown> };
    };
    delete broken.components.schemas.Item;
    const { code, stdout, stderr } = await lint(fileWith(broken));
    expect(code).toBe(1);
    expect(stdout + stderr).toContain('no-unresolved-refs');
  }, 120_000);
});

describe('the document', () => {
  const { Account, Item, Purchase, UserInfo } = document.components.schemas as unknown as Record<
    string,
    { required: string[]; properties: Record<string, Record<string, unknown>> }
  >;

  it('is the same each time, but for the version', () => {
    const text = (version: string) => JSON.stringify(openApiDocument(version));
    expect(text('1.2.3')).toBe(JSON.stringify(document));
    expect(text('9.9.9').replace('9.9.9', '1.2.3')).toBe(JSON.stringify(document));
  });

  it('has the seven endpoints of the specification, and both addresses as variables', () => {
    const endpoints = Object.entries(document.paths).map(
      ([path, item]) => `${Object.keys(item).filter((key) => key !== 'servers')} ${path}`,
    );
    expect(endpoints).toEqual([
      'get /api/account/details',
      'get /api/items/all',
      'get /api/items/item',
      'post /api/purchases/validation',
      'get /api/oauth',
      'post /api/authorize',
      'get /api/get_user_info',
    ]);
    expect(document.servers.map(({ url }) => url)).toEqual(['{base_url}']);
    expect(document.paths['/api/authorize']?.servers).toMatchObject([{ url: '{auth_url}' }]);
  });

  it.each([
    ['/api/account/details', 'get', 'Invalid request'],
    ['/api/items/all', 'get', 'No items found'],
    ['/api/items/item', 'get', 'Item Not Found'],
    ['/api/purchases/validation', 'post', 'Invalid purchase code'],
  ])('%s documents its error', (path, method, msg) => {
    const paths = document.paths as Record<string, Record<string, object>>;
    const text = JSON.stringify(paths[path]?.[method]);
    expect(text).toContain(`"value":{"status":"error","msg":"${msg}"}`);
  });

  it('promises what the specification does, and nothing that is "not shown"', () => {
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
    expect(Item?.properties.id).toMatchObject({ type: 'integer' });
    expect(Item?.properties.id).not.toHaveProperty('minimum');
  });

  it('describes every field', () => {
    const bare: string[] = [];
    const look = (value: unknown, at: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const { properties } = value as { properties?: Record<string, Record<string, unknown>> };
      for (const [name, field] of Object.entries(properties ?? {})) {
        if (field.description === undefined) bare.push(`${at}.${name}`);
      }
      for (const [key, inside] of Object.entries(value)) look(inside, `${at}.${key}`);
    };
    look(document.components.schemas, '');
    expect(bare).toEqual([]);
  });

  it('nothing that the package exports loads it', () => {
    for (const file of ['src/index.ts', 'src/sandbox/index.ts', 'src/cli/main.ts']) {
      expect(readFileSync(join(ROOT, file), 'utf8')).not.toContain('openapi/');
    }
  });
});

describe('the check of answers against the document', () => {
  const item = { id: 1, name: 'a', media: { thumbnail: 'https://a.example/' } };
  const check = (body: unknown) =>
    complaintsAbout('get', '/api/items/item', 200, 'application/json', body);

  it.each([
    ['a price as a string', { status: 'success', item: { ...item, price: { regular: '24.00' } } }],
    ['null for absent', { status: 'success', item: { ...item, version: null } }],
    ['an id that is none', { status: 'success', item: { ...item, id: 1.5 } }],
    ['another status', { status: 'erfolgreich', item }],
    ['no payload', { status: 'success' }],
    ['an error without msg', { status: 'error' }],
  ])('finds %s', (_what, body) => expect(check(body)).not.toEqual([]));

  it('lets unknown fields be, and finds what is not documented at all', () => {
    expect(check({ status: 'success', item: { ...item, new: true }, more: 1 })).toEqual([]);
    expect(complaintsAbout('post', '/api/items/item', 200, '', {})).toHaveLength(1);
    expect(complaintsAbout('get', '/api/items/item', 500, '', {})).toHaveLength(1);
    expect(complaintsAbout('get', '/api/items/item', 200, 'text/html', '')).toHaveLength(1);
  });
});
