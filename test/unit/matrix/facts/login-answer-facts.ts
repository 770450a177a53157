import { userInfo } from '../../../support/wire.js';
import { type AnswerFact, type End, NOT_NOW, PAGE } from './answer-fact.js';

export type LoginEndpoint = '/api/authorize' | '/api/get_user_info';

const ofLoginApi = (authorize: End, user: End): Readonly<Record<LoginEndpoint, End>> => ({
  '/api/authorize': authorize,
  '/api/get_user_info': user,
});
const both = (end: End) => ofLoginApi(end, end);
const login = (endpoint: LoginEndpoint): object =>
  endpoint === '/api/authorize' ? { access_token: 'a-token' } : { user_info: userInfo };
const refused = (what: string) => () => ({ error: true, message: `Bad Request, ${what}` });

export const LOGIN_ANSWER_FACTS: readonly AnswerFact<LoginEndpoint>[] = [
  {
    name: 'a payload: its body goes first',
    statuses: [200, 201, 400, 404],
    body: login,
    ends: both('answer'),
  },
  {
    name: 'a payload with a byte order mark ahead of it',
    statuses: [200],
    body: (e) => `\uFEFF${JSON.stringify(login(e))}`,
    ends: both('answer'),
  },
  {
    name: 'a payload with text ahead of it',
    statuses: [200],
    body: (e) => `Notice: x\n${JSON.stringify(login(e))}`,
    ends: both('unexpected_response'),
  },
  {
    name: 'a payload that is called an error',
    statuses: [200, 400],
    body: (e) => ({ error: true, ...login(e) }),
    ends: ofLoginApi('auth_key_rejected', 'access_token_expired'),
  },
  ...['auth_key', 'access_token'].map((what) => ({
    name: `{error, message} about the ${what}`,
    statuses: [200, 400, 401, 403, 404],
    body: refused(`invalid ${what}`),
    ends: ofLoginApi('auth_key_rejected', 'access_token_expired'),
  })),
  ...['app_id', 'app_secret'].map((what) => ({
    name: `{error, message} about the ${what}`,
    statuses: [200, 400, 401, 403, 404],
    body: refused(`invalid ${what}`),
    ends: ofLoginApi('app_credentials_rejected', 'access_token_expired'),
  })),
  {
    name: '{error, message} in another language',
    statuses: [200, 400],
    body: () => ({ error: 1, message: 'Hatalı istek' }),
    ends: ofLoginApi('auth_key_rejected', 'access_token_expired'),
  },
  {
    name: '{error, message} at a status that says "not now"',
    statuses: NOT_NOW,
    body: refused('invalid app_id'),
    ends: both('service_unavailable'),
  },
  {
    name: '[]',
    statuses: [200, 404],
    body: () => [],
    ends: ofLoginApi('auth_key_rejected', 'login_failed'),
  },
  {
    name: 'JSON without a payload',
    statuses: [200],
    body: () => ({ ok: true }),
    ends: ofLoginApi('auth_key_rejected', 'unexpected_response'),
  },
  {
    name: 'a payload of another shape',
    statuses: [200],
    body: () => ({ access_token: ['x'], user_info: { user_id: {} } }),
    ends: ofLoginApi('auth_key_rejected', 'unexpected_response'),
  },
  {
    name: 'JSON that is no object',
    statuses: [200],
    body: '"a-token"',
    ends: both('unexpected_response'),
  },
  { name: 'a page', statuses: [200, 403, 404], body: PAGE, ends: both('unexpected_response') },
  { name: 'nothing', statuses: [200, 204], body: '', ends: both('unexpected_response') },
  {
    name: 'a page at a status that says "not now"',
    statuses: NOT_NOW,
    body: PAGE,
    ends: both('service_unavailable'),
  },
];
