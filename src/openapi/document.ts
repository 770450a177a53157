import {
  accountDetails,
  type Endpoint,
  itemsAll,
  itemsItem,
  purchasesValidation,
} from '../clients/key-endpoints.js';
import { AUTHORIZE, GET_USER_INFO, OAUTH } from '../clients/login-api.js';
import { type JsonSchema, schemaRef, schemas, textOf } from './schemas.js';

const server = (name: string, description: string, example: string) => ({
  url: `{${name}}`,
  description,
  variables: { [name]: { default: example, description: 'Yours.' } },
});

/** An object that requires these fields and allows others. */
const objectOf = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

/** A parameter in the query. */
const inQuery = (name: string, description: string, type: string) => ({
  name,
  in: 'query',
  required: true,
  description,
  schema: { type },
});

/** A response in JSON. */
const json = (description: string, schema: JsonSchema, examples?: object) => ({
  description,
  content: { 'application/json': { schema, ...(examples && { examples }) } },
});

/** A body with these fields, in any of these content types. */
const bodyOf = (properties: Readonly<Record<string, JsonSchema>>, ...types: string[]) => ({
  required: true,
  content: Object.fromEntries(types.map((type) => [type, { schema: objectOf(properties) }])),
});

const FORM = 'application/x-www-form-urlencoded';

/** An operation of the key API. `payload` are the fields next to `status` in a positive answer. */
function keyOperation(
  { negativeMsg: msg }: Endpoint<unknown>,
  operationId: string,
  summary: string,
  payload: Readonly<Record<string, JsonSchema>>,
  more: object = {},
) {
  const success = objectOf({ status: { type: 'string', const: 'success' }, ...payload });
  const error = schemaRef('KeyApiError');
  const documented = { summary: 'The documented error', value: { status: 'error', msg } };
  return {
    operationId,
    summary,
    tags: ['Key API'],
    security: [{ apiKey: [] }],
    ...more,
    responses: {
      200: json(
        `${summary}. HTTP statuses are not shown in the specification: some deployments send errors with 200 as well.`,
        { oneOf: [success, error] },
      ),
      '4XX': json(`An error, documented as "${msg}".`, error, { documented }),
    },
  };
}

/** The key API. Each operation acts on what belongs to the account of the api_key. */
const keyApiPaths = {
  [accountDetails.path]: {
    get: keyOperation(accountDetails, 'getAccount', 'Read the account', {
      data: schemaRef('Account'),
    }),
  },
  [itemsAll.path]: {
    get: keyOperation(itemsAll, 'listItems', 'List all items', {
      items: { type: 'array', items: schemaRef('Item') },
    }),
  },
  [itemsItem.path]: {
    get: keyOperation(
      itemsItem,
      'getItem',
      'Read one item',
      { item: schemaRef('Item') },
      { parameters: [{ ...inQuery('item_id', 'The id of the item.', 'integer'), example: 1042 }] },
    ),
  },
  [purchasesValidation.path]: {
    post: keyOperation(
      purchasesValidation,
      'validatePurchase',
      'Validate a purchase code',
      { data: objectOf({ purchase: schemaRef('Purchase') }) },
      {
        description:
          'The api_key is a field of the body here, which OpenAPI has no security scheme for. How the parameters are encoded is not shown: form, JSON and query have been seen.',
        security: [],
        requestBody: bodyOf(
          {
            api_key: textOf('The key of the workspace. A secret.'),
            purchase_code: textOf('The code to validate.'),
          },
          FORM,
          'application/json',
        ),
      },
    ),
  },
};

/** An operation of the login API, which has a separate server. */
const loginOperation = (method: 'get' | 'post', operationId: string, operation: object) => ({
  servers: [server('auth_url', 'The login API.', 'https://login.market.example')],
  [method]: { operationId, tags: ['Login with app'], security: [], ...operation },
});

/** The responses in JSON of an endpoint of the login API. */
function loginApiAnswers(description: string, payload: JsonSchema) {
  const error = schemaRef('LoginApiError');
  return {
    200: json(`${description} Deployments send errors with 200 as well.`, {
      anyOf: [payload, error],
    }),
    '4XX': json('An error, as some deployments send it.', error),
  };
}

const page = { 'text/html': { schema: { type: 'string' } } };

/** The login API, version 1.1. */
const loginApiPaths = {
  [OAUTH]: loginOperation('get', 'openLogin', {
    summary: 'Log in and consent',
    description:
      'Opened in the user’s browser, not called by the app. When the user accepts, the browser goes to the app’s redirect URL with the query parameter `auth_key`, which works once. How the redirect URL is registered is not shown; no `state` is passed on.',
    parameters: [inQuery('app_id', 'The app’s id.', 'string')],
    responses: {
      200: { description: 'The login or consent page.', content: page },
      302: {
        description: 'The user has accepted: to the app’s redirect URL with `auth_key`.',
        headers: {
          Location: {
            description: 'The redirect URL with `?auth_key=…`.',
            schema: { type: 'string', format: 'uri' },
          },
        },
      },
      '4XX': { description: 'A page: there is no such app.', content: page },
    },
  }),
  [AUTHORIZE]: loginOperation('post', 'exchangeAuthKey', {
    summary: 'Exchange an auth_key for an access_token',
    description:
      'An auth_key works once. The access_token lives for one hour; after that the user must go through the login again.',
    requestBody: bodyOf(
      {
        app_id: textOf('The app’s id.'),
        app_secret: textOf('The app’s secret.'),
        auth_key: textOf('What came to the redirect URL.'),
      },
      FORM,
    ),
    responses: loginApiAnswers('The token.', schemaRef('AccessToken')),
  }),
  [GET_USER_INFO]: loginOperation('get', 'getUserInfo', {
    summary: 'Read the user who logged in',
    security: [{ accessToken: [] }],
    responses: loginApiAnswers('The user; an empty list for one who is gone.', {
      anyOf: [objectOf({ user_info: schemaRef('UserInfo') }), { type: 'array', maxItems: 0 }],
    }),
  }),
};

const DESCRIPTION = `Two HTTP interfaces of one marketplace: the key API, for reading the account and its items and for validating purchase codes; and the login API, version 1.1, for logging users in.

What the specification leaves "not shown" is optional here, or said so in words. Unknown fields are always allowed. Clients of real deployments meet harmless differences from this document, numbers as strings or null for absent; the package marketgate reads them into this shape.`;

/**
 * Both APIs as an OpenAPI 3.1 document, built from the schemas, endpoints and messages of the clients. It
 * is generated at build time; no entry that an app imports loads this file.
 *
 * @param version the package's version.
 */
export const openApiDocument = (version: string) => ({
  openapi: '3.1.1',
  info: {
    title: 'Marketplace key API and login with app',
    version,
    description: DESCRIPTION,
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [server('base_url', 'The key API.', 'https://market.example')],
  tags: [
    { name: 'Key API', description: 'With a workspace’s api_key.' },
    { name: 'Login with app', description: 'Version 1.1: log users in by redirect.' },
  ],
  paths: { ...keyApiPaths, ...loginApiPaths },
  components: {
    securitySchemes: {
      apiKey: {
        type: 'apiKey',
        in: 'query',
        name: 'api_key',
        description:
          'The key of the workspace, from its settings. A secret: keep it on the server. It travels as a parameter; a header for it is not shown.',
      },
      accessToken: {
        type: 'apiKey',
        in: 'query',
        name: 'access_token',
        description: 'From the exchange. A secret; it lives for one hour.',
      },
    },
    schemas,
  },
});
