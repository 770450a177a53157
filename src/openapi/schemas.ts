import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { z } from 'zod';
import { accountSchema } from '../model/account.js';
import { documentedType } from '../model/fields.js';
import { itemSchema } from '../model/item.js';
import { purchaseSchema } from '../model/purchase.js';
import { userInfoSchema } from '../model/user-info.js';

/** A schema of OpenAPI 3.1, which is JSON Schema 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export const textOf = (description: string): JsonSchema => ({ type: 'string', description });

/** An answer that requires these fields, or only some of them, and allows others. */
const answer = (
  description: string,
  properties: Readonly<Record<string, JsonSchema>>,
  required = Object.keys(properties),
): JsonSchema => ({ type: 'object', properties, required, additionalProperties: {}, description });

/** All schemas of the document, by name. */
export const schemas = {
  Account: documented('account.ts', 'Account', accountSchema),
  Item: documented('item.ts', 'Item', itemSchema),
  Purchase: documented('purchase.ts', 'Purchase', purchaseSchema),
  UserInfo: documented('user-info.ts', 'UserInfo', userInfoSchema),
  AccessToken: answer('The answer to a successful exchange.', {
    access_token: { ...textOf('A secret. It lives for one hour.'), minLength: 1 },
  }),
  KeyApiError: answer('An error of the key API.', {
    status: { ...textOf('Always "error".'), const: 'error' },
    msg: textOf('For people to read; the documented ones are examples.'),
  }),
  LoginApiError: answer(
    'An error of the login API. The specification shows none; this is what deployments answer, mostly with HTTP 200.',
    {
      error: {
        type: ['boolean', 'string'],
        description: 'Not shown in the specification; deployments send `true`.',
      },
      message: { ...textOf('For people to read.'), examples: ['Bad Request, invalid auth_key'] },
    },
    ['error'],
  ),
};

/** Refers to a schema of the document. */
export function schemaRef(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

function jsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema, ...json } = z.toJSONSchema(documentedType(schema), {
    override: ({ jsonSchema: json }) => {
      // zod's limits for safe integers are no part of the documented type.
      if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
      if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
    },
  });
  return json;
}

type Members = ts.InterfaceDeclaration | ts.TypeLiteralNode;

/**
 * The JSON Schema of a type in `src/model`: the schema that parses answers, with the TSDoc of the type's
 * fields, and with the fields required that are not optional in the type. The parser requires fewer.
 */
function documented(file: string, name: string, schema: z.ZodType): JsonSchema {
  const code = readFileSync(new URL(`../model/${file}`, import.meta.url), 'utf8');
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true);
  const interfaces = new Map(
    source.statements.filter(ts.isInterfaceDeclaration).map((each) => [each.name.text, each]),
  );

  const withFields = (json: JsonSchema, { members }: Members): JsonSchema => {
    const { properties: known } = json as { properties: Record<string, JsonSchema> };
    const fields = members.filter(ts.isPropertySignature);
    const properties = fields.map((field) => {
      const key = field.name.getText();
      const description = descriptionOf(field);
      return [key, { ...typeOf(known[key] ?? {}, field.type), description }];
    });
    const required = fields.filter(({ questionToken }) => questionToken === undefined);
    return {
      ...json,
      properties: Object.fromEntries(properties),
      required: required.map((field) => field.name.getText()),
    };
  };
  const typeOf = (json: JsonSchema, type: ts.TypeNode | undefined): JsonSchema => {
    if (type === undefined) return json;
    if (ts.isTypeLiteralNode(type)) return withFields(json, type);
    const inner = interfaces.get(type.getText());
    if (inner !== undefined) return withFields(json, inner);
    return type.getText() === 'Item' ? schemaRef('Item') : json;
  };

  const found = interfaces.get(name);
  if (found === undefined) throw new TypeError(`there is no interface ${name} in ${file}`);
  return { ...withFields(jsonSchema(schema), found), description: descriptionOf(found) };
}

function descriptionOf(node: ts.Node): string {
  const [comment] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  return (ts.getTextOfJSDocComment(comment?.comment) ?? '').replace(/\s+/g, ' ');
}
