import { AUTHORIZE, GET_USER_INFO } from '../clients/judge-login.js';
import { loginApiAnswers, objectOf } from './answers.js';
import { schemaRef } from './components.js';
import { authServer } from './servers.js';

const tags = ['Login with app'];
const servers = [authServer];
const text = (description: string) => ({ type: 'string', description });

const page = { 'text/html': { schema: { type: 'string' } } };

/** Interface B, version 1.1. It is served at an address of its own. */
export const loginApiPaths = {
  '/api/oauth': {
    servers,
    get: {
      operationId: 'openLogin',
      summary: 'Log in and consent',
      description:
        'Opened in the user’s browser, not called by the app. When the user accepts, the browser goes to the app’s redirect URL with the query parameter `auth_key`, which works once. How the redirect URL is registered is not shown; no `state` is passed on.',
      tags,
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
      tags,
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
      tags,
      security: [{ accessToken: [] }],
      responses: loginApiAnswers('The user.', objectOf({ user_info: schemaRef('UserInfo') })),
    },
  },
};
