import {
  accountDetails,
  type Endpoint,
  itemsAll,
  itemsItem,
  purchasesValidation,
} from '../clients/key-endpoints.js';
import { AUTHORIZE, GET_USER_INFO, OAUTH } from '../clients/login-api.js';
import { type JsonSchema, objectOf, schemaRef, schemas, textOf } from './schemas.js';

/** Where an API is served. A literal address comes first, because some tools take no variables. */
const servers = (variable: string, description: string, example: string) => [
  { url: 'http://127.0.0.1:4000', description: 'The sandbox: `npx marketgate sandbox`.' },
  { url: `{${variable}}`, description, variables: { [variable]: { default: example } } },
];

/** A parameter in the query. */
const inQuery = (
  name: string,
  description: string,
  example: string | number,
  { required = true } = {},
) => ({
  name,
  in: 'query',
  required,
  description,
  schema: { type: typeof example === 'number' ? 'integer' : 'string' },
  example,
});

/** A response in JSON. */
const json = (description: string, schema: JsonSchema, examples?: object) => ({
  description,
  content: { 'application/json': { schema, ...(examples && { examples }) } },
});

/** A body with these fields, in any of these content types. */
const bodyOf = (
  properties: Readonly<Record<string, JsonSchema>>,
  types: readonly string[],
  { required = true } = {},
) => ({
  required,
  content: Object.fromEntries(types.map((type) => [type, { schema: objectOf(properties) }])),
});

const FORM = 'application/x-www-form-urlencoded';

/** What the examples have. */
const EXAMPLE = {
  key: 'a1'.repeat(32),
  code: '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10',
  // Of an app of the sandbox.
  appId: '18230471',
  appSecret: 'the-secret-of-the-app',
  authKey: 'from-the-redirect-url',
};

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
    description:
      'HTTP statuses are not shown in the specification: some deployments send errors with 200 as well.',
    tags: ['Key API'],
    security: [{ apiKey: [] }],
    ...more,
    responses: {
      200: json(`${summary}.`, { oneOf: [success, error] }),
      default: json(`An error, documented as "${msg}".`, error, { documented }),
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
      { parameters: [inQuery('item_id', 'The id of the item.', 1042)] },
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
          'How the parameters are encoded is not shown: a form, JSON, multipart and the query have been seen. They go into the body or into the query.',
        // OpenAPI has no security scheme for a field of the body.
        security: [{}, { apiKey: [] }],
        parameters: [
          inQuery('purchase_code', 'The code, unless it is in the body.', EXAMPLE.code, {
            required: false,
          }),
        ],
        requestBody: bodyOf(
          {
            api_key: textOf('The key of the workspace. A secret.', EXAMPLE.key),
            purchase_code: textOf('The code to validate.', EXAMPLE.code),
          },
          [FORM, 'application/json', 'multipart/form-data'],
          { required: false },
        ),
      },
    ),
  },
};

/** An operation of the login API. */
const loginOperation = (operation: object) => ({
  tags: ['Login with app'],
  security: [],
  ...operation,
});

/** An endpoint of the login API, which has a separate server. */
const loginEndpoint = (operations: object) => ({
  servers: servers('auth_url', 'The login API.', 'https://login.market.example'),
  ...operations,
});

/** The responses in JSON of an endpoint of the login API. */
function loginApiAnswers(description: string, payload: JsonSchema) {
  const error = schemaRef('LoginApiError');
  return {
    200: json(`${description} Deployments send errors with 200 as well.`, {
      anyOf: [payload, error],
    }),
    default: json('An error, as some deployments send it.', error),
  };
}

const page = { 'text/html': { schema: { type: 'string' } } };

const CREDENTIALS = {
  app_id: ['The app’s id.', EXAMPLE.appId],
  app_secret: ['The app’s secret.', EXAMPLE.appSecret],
  auth_key: ['What came to the redirect URL.', EXAMPLE.authKey],
} as const;

const exchange = {
  summary: 'Exchange an auth_key for an access_token',
  description:
    'An auth_key works once. The access_token lives for one hour; after that the user must go through the login again.',
  responses: loginApiAnswers('The token.', schemaRef('AccessToken')),
};

/** The login API, version 1.1. */
const loginApiPaths = {
  [OAUTH]: loginEndpoint({
    get: loginOperation({
      operationId: 'openLogin',
      summary: 'Log in and consent',
      description:
        'Opened in the user’s browser, not called by the app. When the user accepts, the browser goes to the app’s redirect URL with the query parameter `auth_key`, which works once. How the redirect URL is registered is not shown; no `state` is passed on.',
      parameters: [inQuery('app_id', ...CREDENTIALS.app_id)],
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
        default: { description: 'A page: there is no such app.', content: page },
      },
    }),
  }),
  [AUTHORIZE]: loginEndpoint({
    post: loginOperation({
      operationId: 'exchangeAuthKey',
      ...exchange,
      requestBody: bodyOf(
        Object.fromEntries(
          Object.entries<readonly [string, string]>(CREDENTIALS).map(([name, about]) => [
            name,
            textOf(...about),
          ]),
        ),
        [FORM],
      ),
    }),
    get: loginOperation({
      operationId: 'exchangeAuthKeyByQuery',
      ...exchange,
      summary: 'Exchange an auth_key on older deployments',
      parameters: Object.entries<readonly [string, string]>(CREDENTIALS).map(([name, about]) =>
        inQuery(name, ...about),
      ),
    }),
  }),
  [GET_USER_INFO]: loginEndpoint({
    get: loginOperation({
      operationId: 'getUserInfo',
      summary: 'Read the user who logged in',
      description: 'With the access_token of the user.',
      security: [{ accessToken: [] }],
      responses: loginApiAnswers('The user; an empty list for one who is gone.', {
        anyOf: [
          objectOf({ user_info: schemaRef('UserInfo') }),
          { type: 'array', items: {}, maxItems: 0 },
        ],
      }),
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
    contact: { name: 'marketgate' },
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: servers('base_url', 'The key API.', 'https://market.example'),
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
