import * as z from 'zod/mini';
import { accountSchema } from '../model/account.js';
import { fieldInfo, type Schema } from '../model/fields.js';
import { itemSchema } from '../model/item.js';
import { purchaseSchema } from '../model/purchase.js';
import { userInfoSchema } from '../model/user-info.js';

/** A schema of OpenAPI 3.1, which is JSON Schema 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export const textOf = (description: string, example?: string): JsonSchema => ({
  type: 'string',
  description,
  ...(example && { examples: [example] }),
});

/** Refers to a schema of the document. */
export const schemaRef = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** An object that requires these fields, or only some of them, and allows others. */
export const objectOf = (
  properties: Readonly<Record<string, JsonSchema>>,
  required = Object.keys(properties),
): JsonSchema => ({ type: 'object', properties, required, additionalProperties: {} });

/** The JSON Schema of what the clients parse answers with. */
function jsonSchema(schema: Schema<unknown>, description: string): JsonSchema {
  const { $schema, properties, ...json } = z.toJSONSchema(schema, {
    metadata: fieldInfo,
    override: ({ jsonSchema }) => {
      // zod's limits for safe integers are no part of the documented type.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      const { canBeBlank, type, format } = jsonSchema;
      if (canBeBlank === undefined) return;
      for (const name of ['canBeBlank', 'type', 'format']) delete jsonSchema[name];
      jsonSchema.anyOf = [
        { type, format },
        { type, maxLength: 0 },
      ];
    },
  });
  // The item inside a purchase, without the doubt whether it has a name.
  const item = properties?.item && { item: schemaRef('Item') };
  return { ...json, properties: { ...properties, ...item }, description };
}

/** All schemas of the document, by name. */
export const schemas = {
  Account: jsonSchema(accountSchema, 'The account that an api_key belongs to.'),
  Item: jsonSchema(
    itemSchema,
    'An item of the catalogue. The specification does not show which fields are required.',
  ),
  Purchase: jsonSchema(purchaseSchema, 'A purchase.'),
  UserInfo: jsonSchema(userInfoSchema, 'A user who logged in. All fields are strings.'),
  AccessToken: {
    ...objectOf({ access_token: { ...textOf('A secret. It lives for one hour.'), minLength: 1 } }),
    description: 'The answer to a successful exchange.',
  },
  KeyApiError: {
    ...objectOf({
      status: { ...textOf('Always "error".'), const: 'error' },
      msg: textOf('For people to read; the documented ones are examples.'),
    }),
    description: 'An error of the key API.',
  },
  LoginApiError: {
    ...objectOf(
      {
        error: {
          type: ['boolean', 'string'],
          description: 'Not shown in the specification; deployments send `true`.',
        },
        message: textOf('For people to read.', 'Bad Request, invalid auth_key'),
      },
      ['error'],
    ),
    description:
      'An error of the login API. The specification shows none; this is what deployments answer, mostly with HTTP 200.',
  },
};
