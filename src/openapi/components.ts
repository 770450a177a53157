import { z } from 'zod';
import { accountDocumentation } from './account.js';
import { itemDocumentation } from './item.js';
import { purchaseDocumentation } from './purchase.js';
import { userInfoDocumentation } from './user-info.js';

/** A schema of OpenAPI 3.1, which is JSON Schema 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const keyApiError = z.looseObject({
  status: z.literal('error').meta({ description: 'Always "error".' }),
  msg: z.string().meta({ description: 'For people to read; the documented ones are examples.' }),
});

const accessToken = z.looseObject({
  access_token: z.string().min(1).meta({ description: 'A secret. It lives for one hour.' }),
});

const loginApiError = z.looseObject({
  error: z
    .union([z.boolean(), z.string()])
    .meta({ description: 'Not shown in the specification; deployments send `true`.' }),
  message: z
    .string()
    .meta({ description: 'For people to read.', examples: ['Bad Request, invalid auth_key'] })
    .optional(),
});

const ALL: Readonly<Record<string, z.ZodType>> = {
  Account: accountDocumentation,
  Item: itemDocumentation,
  Purchase: purchaseDocumentation,
  UserInfo: userInfoDocumentation,
  AccessToken: accessToken.meta({ description: 'The answer to a successful exchange.' }),
  KeyApiError: keyApiError.meta({ description: 'An error of interface A.' }),
  LoginApiError: loginApiError.meta({
    description:
      'An error of interface B. The specification shows none; this is what deployments answer, mostly with HTTP 200.',
  }),
};

const pathOf = (name: string): string => `#/components/schemas/${name}`;

/** Refers to a schema of the document. */
export const schemaRef = (name: keyof typeof ALL): JsonSchema => ({ $ref: pathOf(name) });

/** All schemas of the document, by name. */
export function componentSchemas(): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(ALL)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    uri: pathOf,
    override: ({ jsonSchema }) => {
      // What a float can hold is no property of an item's id.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema, $id, ...schema }]) => [name, schema]),
  );
}
