import {
  accountDetails,
  type Endpoint,
  itemsAll,
  itemsItem,
  purchasesValidation,
} from '../clients/endpoints.js';
import { keyApiAnswers, objectOf, success } from './answers.js';
import { type JsonSchema, schemaRef } from './components.js';

const tags = ['Key API'];
const security = [{ apiKey: [] }];

const itemId = {
  name: 'item_id',
  in: 'query',
  required: true,
  description: 'The id of the item.',
  schema: { type: 'integer' },
  example: 1042,
};

const purchase = success({ data: objectOf({ purchase: schemaRef('Purchase') }) });

const code: JsonSchema = objectOf({
  api_key: { type: 'string', description: 'The key of the workspace. A secret.' },
  purchase_code: { type: 'string', description: 'The code to validate.' },
});

/** A GET of interface A, with the `msg` that the client knows it by. */
const get = (
  { no }: Endpoint<unknown>,
  operationId: string,
  summary: string,
  payload: JsonSchema,
  parameters: readonly object[] = [],
) => ({
  get: {
    ...{ operationId, summary, tags, security },
    ...(parameters.length > 0 && { parameters }),
    responses: keyApiAnswers(`${summary}.`, payload, no),
  },
});

/** Interface A. Each operation acts on what belongs to the account of the api_key. */
export const keyApiPaths = {
  [accountDetails.path]: get(
    accountDetails,
    'getAccount',
    'Read the account',
    success({ data: schemaRef('Account') }),
  ),
  [itemsAll.path]: get(
    itemsAll,
    'listItems',
    'List all items',
    success({ items: { type: 'array', items: schemaRef('Item') } }),
  ),
  [itemsItem.path]: get(
    itemsItem,
    'getItem',
    'Read one item',
    success({ item: schemaRef('Item') }),
    [itemId],
  ),
  [purchasesValidation.path]: {
    post: {
      operationId: 'validatePurchase',
      summary: 'Validate a purchase code',
      description:
        'The api_key is a field of the body here, which OpenAPI has no security scheme for. How the parameters are encoded is not shown: form, JSON and query have been seen.',
      tags,
      security: [],
      requestBody: {
        required: true,
        content: {
          'application/x-www-form-urlencoded': { schema: code },
          'application/json': { schema: code },
        },
      },
      responses: keyApiAnswers('The purchase.', purchase, purchasesValidation.no),
    },
  },
};
