import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import document from '../../../src/openapi.json' with { type: 'json' };

// The linter of OpenAPI is a step of `npm run check`.

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly example?: unknown }[];
  readonly requestBody?: { readonly content: object };
}

it('the document has every endpoint, with its query parameters, an example of each, and its bodies', () => {
  const paths = document.paths as unknown as Record<string, Record<string, Operation>>;
  const found = Object.entries(paths).flatMap(([path, { servers, ...operations }]) =>
    Object.entries(operations).map(([method, { parameters = [], requestBody }]) => {
      const names = parameters.filter(({ example }) => example !== undefined);
      const types = Object.keys(requestBody?.content ?? {});
      return [method, path, ...names.map(({ name }) => name), ...types].join(' ');
    }),
  );
  const form = 'application/x-www-form-urlencoded';
  expect(found.sort()).toEqual([
    'get /api/account/details',
    'get /api/authorize app_id app_secret auth_key',
    'get /api/get_user_info',
    'get /api/items/all',
    'get /api/items/item item_id',
    'get /api/oauth app_id',
    `post /api/authorize ${form}`,
    `post /api/purchases/validation purchase_code ${form} application/json multipart/form-data`,
  ]);
});

it('the document has nothing that generators and validators fail on', () => {
  JSON.parse(JSON.stringify(document), (key, value) => {
    expect(key).not.toMatch(/^\dXX$/);
    if (value?.type === 'array') expect(value).toHaveProperty('items');
    for (const variable of Object.values<object>(value?.variables ?? {})) {
      expect(variable).not.toHaveProperty('description');
    }
    return value;
  });
});

it('the schemas require what the specification promises, and nothing that is "not shown"', () => {
  const { Account, Item, Purchase, UserInfo } = document.components.schemas;
  const required = [Account, Item, Purchase, UserInfo].map((schema) => schema.required.join(' '));
  expect(required).toEqual([
    'name username email balance currency profile registered_at',
    'id name media',
    'purchase_code license_type price currency item downloaded date',
    'user_id user_name user_email',
  ]);
});

it('the document is of the version of the package', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(document.info.version).toBe(version);
});
