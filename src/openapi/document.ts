import {
  accountDetails,
  type Endpoint,
  itemsAll,
  itemsItem,
  purchasesValidation,
} from '../clients/key-endpoints.js';
import { AUTHORIZE, GET_USER_INFO, OAUTH } from '../clients/login-api.js';
import { type JsonSchema, schemaRef, schemas } from './schemas.js';

const server = (name: string, description: string, example: string) => ({
  url: `{${name}}`,
  description,
  variables: { [name]: { default: example, description: 'Yours.' } },
});

const baseServer = server('base_url', 'The key API.', 'https://market.example');
const authServer = server('auth_url', 'The login API.', 'https://login.market.example');

/** A response in JSON. */
const json = (description: string, schema: JsonSchema, examples?: object) => ({
  description,
  content: { 'application/json': { schema, ...(examples && { examples }) } },
});

/** An object that requires these fields and allows others. */
const objectOf = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

/** `{status: "success", …}`. */
const success = (payload: Readonly<Record<string, JsonSchema>>): JsonSchema =>
  objectOf({ status: { type: 'string', const: 'success' }, ...payload });

/** The responses of an endpoint of the key API. `msg` is its documented error. */
function keyApiAnswers(description: string, payload: JsonSchema, msg: string) {
  const error = schemaRef('KeyApiError');
  const documented = { summary: 'The documented error', value: { status: 'error', msg } };
  return {
    200: json(
      `${description} HTTP statuses are not shown in the specification: some deployments send errors with 200 as well.`,
      { oneOf: [payload, error] },
    ),
    '4XX': json(`An error, documented as "${msg}".`, error, { documented }),
  };
}

/** The responses of an endpoint of the login API. */
function loginApiAnswers(description: string, payload: JsonSchema) {
  const error = schemaRef('LoginApiError');
  return {
    200: json(`${description} Deployments send errors with 200 as well.`, {
      anyOf: [payload, error],
    }),
    '4XX': json('An error, as some deployments send it.', error),
  };
}

const keyTags = ['Key API'];
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

/** A GET of the key API. */
const get = (
  { negativeMsg }: Endpoint<unknown>,
  operationId: string,
  summary: string,
  payload: JsonSchema,
  parameters: readonly object[] = [],
) => ({
  get: {
    ...{ operationId, summary, tags: keyTags, security },
    ...(parameters.length > 0 && { parameters }),
    responses: keyApiAnswers(`${summary}.`, payload, negativeMsg),
  },
});

/** The key API. Each operation acts on what belongs to the account of the api_key. */
const keyApiPaths = {
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
      tags: keyTags,
      security: [],
      requestBody: {
        required: true,
        content: {
          'application/x-www-form-urlencoded': { schema: code },
          'application/json': { schema: code },
        },
      },
      responses: keyApiAnswers('The purchase.', purchase, purchasesValidation.negativeMsg),
    },
  },
};

const loginTags = ['Login with app'];
const servers = [authServer];
const text = (description: string) => ({ type: 'string', description });

const page = { 'text/html': { schema: { type: 'string' } } };

/** The login API, version 1.1. It has a separate server. */
const loginApiPaths = {
  [OAUTH]: {
    servers,
    get: {
      operationId: 'openLogin',
      summary: 'Log in and consent',
      description:
        'Opened in the user’s browser, not called by the app. When the user accepts, the browser goes to the app’s redirect URL with the query parameter `auth_key`, which works once. How the redirect URL is registered is not shown; no `state` is passed on.',
      tags: loginTags,
      security: [],
      parameters: [
        {
          ...{ name: 'app_id', in: 'query', required: true },
          ...{ description: 'The app’s id.', schema: { type: 'string' } },
        },
      ],
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
    },
  },
  [AUTHORIZE]: {
    servers,
    post: {
      operationId: 'exchangeAuthKey',
      summary: 'Exchange an auth_key for an access_token',
      description:
        'An auth_key works once. The access_token lives for one hour; after that the user must go through the login again.',
      tags: loginTags,
      security: [],
      requestBody: {
        required: true,
        content: {
          'application/x-www-form-urlencoded': {
            schema: objectOf({
              app_id: text('The app’s id.'),
              app_secret: text('The app’s secret.'),
              auth_key: text('What came to the redirect URL.'),
            }),
          },
        },
      },
      responses: loginApiAnswers('The token.', schemaRef('AccessToken')),
    },
  },
  [GET_USER_INFO]: {
    servers,
    get: {
      operationId: 'getUserInfo',
      summary: 'Read the user who logged in',
      tags: loginTags,
      security: [{ accessToken: [] }],
      responses: loginApiAnswers('The user.', objectOf({ user_info: schemaRef('UserInfo') })),
    },
  },
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
  servers: [baseServer],
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
