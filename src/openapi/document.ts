import {
  accountDetails,
  type Endpoint,
  itemsAll,
  itemsItem,
  purchasesValidation,
} from '../clients/key-endpoints.js';
import { AUTHORIZE, GET_USER_INFO, OAUTH } from '../clients/login-api.js';
import { type JsonSchema, objectOf, schemaRef, schemas, textOf } from './schemas.js';

const FORM = 'application/x-www-form-urlencoded';

/** The parameters: what each one is, and an example. */
const PARAMETERS = {
  api_key: ['The key of the workspace. A secret.', 'a1'.repeat(32)],
  purchase_code: ['The code to validate.', '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10'],
  item_id: ['The id of the item.', 1042],
  // Of an app of the sandbox.
  app_id: ['The app’s id.', '18230471'],
  app_secret: ['The app’s secret.', 'the-secret-of-the-app'],
  auth_key: ['What came to the redirect URL.', 'from-the-redirect-url'],
} as const;
type Name = keyof typeof PARAMETERS;
const CREDENTIALS = ['app_id', 'app_secret', 'auth_key'] as const;

/** Where an API is served. A literal address comes first, because some tools take no variables. */
const servers = (variable: string, description: string, example: string) => [
  { url: 'http://127.0.0.1:4000', description: 'The sandbox: `npx marketgate sandbox`.' },
  { url: `{${variable}}`, description, variables: { [variable]: { default: example } } },
];

/** A parameter in the query. */
function inQuery(name: Name) {
  const [description, example] = PARAMETERS[name];
  const type = typeof example === 'number' ? 'integer' : 'string';
  return { name, in: 'query', required: true, description, schema: { type }, example };
}

/** A body with these parameters, in any of these content types. */
function bodyOf(names: readonly Name[], types: readonly string[]) {
  const properties = names.map((name) => {
    const [description, example] = PARAMETERS[name];
    return [name, textOf(description, String(example))];
  });
  const schema = objectOf(Object.fromEntries(properties));
  return { required: true, content: Object.fromEntries(types.map((type) => [type, { schema }])) };
}

/** A response in JSON. */
const json = (description: string, schema: JsonSchema, examples?: object) => ({
  description,
  content: { 'application/json': { schema, ...(examples && { examples }) } },
});

/** An operation of the key API. `payload` is the field next to `status` in a positive answer. */
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

const validationDetails = {
  description:
    'How the parameters are encoded is not shown: a form, JSON, multipart and the query have been seen. They go into the body or into the query.',
  // OpenAPI has no security scheme for a field of the body.
  security: [{}, { apiKey: [] }],
  parameters: [
    {
      ...inQuery('purchase_code'),
      required: false,
      description: 'The code, unless it is in the body.',
    },
  ],
  requestBody: {
    ...bodyOf(['api_key', 'purchase_code'], [FORM, 'application/json', 'multipart/form-data']),
    required: false,
  },
};

/** Operations of one endpoint of the login API, which has a separate server. */
function loginOperations(operations: Readonly<Record<string, object>>) {
  const entries = Object.entries(operations).map(([method, operation]) => [
    method,
    { tags: ['Login with app'], security: [], ...operation },
  ]);
  return {
    servers: servers('auth_url', 'The login API.', 'https://login.market.example'),
    ...Object.fromEntries(entries),
  };
}

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

const exchange = {
  summary: 'Exchange an auth_key for an access_token',
  description:
    'An auth_key works once. The access_token lives for one hour; after that the user must go through the login again.',
  responses: loginApiAnswers('The token.', schemaRef('AccessToken')),
};

const paths = {
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
      { parameters: [inQuery('item_id')] },
    ),
  },
  [purchasesValidation.path]: {
    post: keyOperation(
      purchasesValidation,
      'validatePurchase',
      'Validate a purchase code',
      { data: objectOf({ purchase: schemaRef('Purchase') }) },
      validationDetails,
    ),
  },
  [OAUTH]: loginOperations({
    get: {
      operationId: 'openLogin',
      summary: 'Log in and consent',
      description:
        'Opened in the user’s browser, not called by the app. When the user accepts, the browser goes to the app’s redirect URL with the query parameter `auth_key`, which works once. How the redirect URL is registered is not shown; no `state` is passed on.',
      parameters: [inQuery('app_id')],
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
    },
  }),
  [AUTHORIZE]: loginOperations({
    post: {
      operationId: 'exchangeAuthKey',
      ...exchange,
      requestBody: bodyOf(CREDENTIALS, [FORM]),
    },
    get: {
      operationId: 'exchangeAuthKeyByQuery',
      ...exchange,
      summary: 'Exchange an auth_key on older deployments',
      parameters: CREDENTIALS.map(inQuery),
    },
  }),
  [GET_USER_INFO]: loginOperations({
    get: {
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
    },
  }),
};

const DESCRIPTION = `Two HTTP interfaces of one marketplace: the key API, for reading the account and its items and for validating purchase codes; and the login API, version 1.1, for logging users in.

What the specification leaves "not shown" is optional here, or said so in words. Unknown fields are always allowed. Clients of real deployments meet harmless differences from this document, numbers as strings or null for absent; the package marketgate reads them into this shape.`;

/** A secret in the query. */
const keyInQuery = (name: string, description: string) => {
  return { type: 'apiKey', in: 'query', name, description };
};

/**
 * Both APIs as an OpenAPI 3.1 document, built from the schemas, endpoints and messages of the clients at build time.
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
  paths,
  components: {
    securitySchemes: {
      apiKey: keyInQuery(
        'api_key',
        'The key of the workspace, from its settings. A secret: keep it on the server. It travels as a parameter; a header for it is not shown.',
      ),
      accessToken: keyInQuery(
        'access_token',
        'From the exchange. A secret; it lives for one hour.',
      ),
    },
    schemas,
  },
});
