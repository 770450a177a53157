import { userInfo } from '../support/wire.js';
import { type AnswerRow, answerRow, NOT_NOW, PAGE } from './answer-row.js';
import type { End } from './answers.js';

export const LOGIN_ENDPOINTS = {
  authorize: { path: '/api/authorize', payload: { access_token: 'access-token-beef4567' } },
  user: { path: '/api/get_user_info', payload: { user_info: userInfo } },
} as const;

export type LoginEndpoint = keyof typeof LOGIN_ENDPOINTS;

type Ends = AnswerRow<LoginEndpoint>['ends'];

const ends = (authorize: End, user: End): Ends => ({ authorize, user });
const both = (end: End): Ends => ends(end, end);
const REFUSED = ends('auth_key_rejected', 'access_token_expired');
const REFUSED_APP = ends('app_credentials_rejected', 'access_token_expired');
const NO_TOKEN: Ends = { authorize: 'auth_key_rejected' };
const UNEXPECTED = both('unexpected_response');
const UNAVAILABLE = both('service_unavailable');

const payload = (e: LoginEndpoint): object => LOGIN_ENDPOINTS[e].payload;
const refusal = (message: string) => () => ({ error: true, message });
const row = answerRow<LoginEndpoint>;

const ANY = [200, 400, 401, 403, 404];

// biome-ignore format: a table is read by its columns
export const LOGIN_API_ROWS: readonly AnswerRow<LoginEndpoint>[] = [
  row('a payload: its body goes first', [200, 201, 400, 404, 500], payload, both('positive')),
  row('a payload among fields that nobody knows', [200], (e) => ({ expires_in: 3600, ...payload(e), error: false }), both('positive')),
  row('a payload with a byte order mark ahead of it', [200], (e) => `\uFEFF\n${JSON.stringify(payload(e))}`, both('positive')),
  row('a payload with text ahead of it', [200], (e) => `Notice: x\n${JSON.stringify(payload(e))}`, UNEXPECTED),
  row('a payload in a page, or in a query', [200], (e) => (e === 'user' ? `<html>${JSON.stringify(payload(e))}</html>` : 'access_token=a-token'), UNEXPECTED),
  row('a payload that is called an error', [200, 400], (e) => ({ error: true, ...payload(e) }), REFUSED),
  row('a payload with the status "error"', [200, 400], (e) => ({ status: 'Error', ...payload(e) }), REFUSED),
  row('a payload with another status', [200], (e) => ({ status: 'success', ...payload(e) }), both('positive')),

  ...['auth_key', 'access_token'].map((name) => row(`{error, message} about the ${name}`, ANY, refusal(`Bad Request, invalid ${name}`), REFUSED, /log in again/)),
  ...['app_id', 'app_secret'].map((name) => row(`{error, message} about the ${name}`, ANY, refusal(`Bad Request, invalid ${name}`), REFUSED_APP, /"appId" and "appSecret"|log in again/)),
  ...['appId', 'app id', 'APP-ID', 'App Secret', 'app-secret', 'App_Secret'].map((name) => row(`{error, message} about the ${name}`, [400], refusal(`Invalid ${name}.`), REFUSED_APP)),
  row('{error, message} with a code of the app_id', [400], refusal('ERR1002_invalid_app_id'), REFUSED_APP),
  row('{error, message} about the app_id after many words', [400], refusal(`${'no, '.repeat(80)}app_id`), REFUSED_APP),
  row('{error, message} about something else with "app" in it', [400], refusal('Your WhatsApp identity is unknown'), REFUSED),
  row('a sentence in "error" itself', [200], () => ({ error: 'invalid app_secret' }), REFUSED_APP, /"invalid app_secret"/),
  row('{error, message} in another language', [200, 400], () => ({ error: 1, message: 'Hatalı istek' }), REFUSED, /: "Hatalı istek"/),
  row('a payload beside an empty list of errors', [200], (e) => ({ error: [], ...payload(e) }), both('positive')),
  row('{error} and no message', [200, 400], () => ({ error: true }), REFUSED, /(auth_key|any more); /),
  row('an empty message', [200], () => ({ error: true, message: '' }), REFUSED, /(auth_key|any more); /),
  row('a message that is no text', [200], () => ({ error: 7, message: { en: 'Sorry' } }), REFUSED, /(auth_key|any more); /),
  row('{message}', [401, 403], () => ({ message: 'Unauthorized' }), REFUSED, /"Unauthorized"/),
  row('{error, message} at a status that says "not now"', NOT_NOW, refusal('invalid app_id'), UNAVAILABLE, /\(HTTP \d+\)/),

  row('[]', [200, 404], () => [], ends('auth_key_rejected', 'login_failed'), /log in again|deleted/),
  row('a user_info of []', [200], () => ({ user_info: [] }), ends('auth_key_rejected', 'login_failed')),
  row('a user_info that is a list with a user', [200], () => ({ user_info: [userInfo] }), ends('auth_key_rejected', 'unexpected_response')),
  row('JSON without a payload', [200], () => ({ ok: true }), ends('auth_key_rejected', 'unexpected_response')),
  row('{}', [200], () => ({}), ends('auth_key_rejected', 'unexpected_response')),
  row('a payload of another shape', [200], () => ({ access_token: ['x'], user_info: { user_id: {} } }), ends('auth_key_rejected', 'unexpected_response'), /log in again|documented shape: user_info\.user_id/),
  ...['', ' ', null, { a: 1 }].map((access_token) => row(`an access_token that is ${JSON.stringify(access_token)}`, [200], () => ({ access_token }), NO_TOKEN)),
  ...['', null].map((user_id) => row(`a user_id that is ${JSON.stringify(user_id)}`, [200], () => ({ user_info: { ...userInfo, user_id } }), { user: 'unexpected_response' }, /user_info\.user_id/)),

  row('a list with something in it', [200], (e) => [payload(e)], UNEXPECTED),
  row('JSON that is no object', [200], (e) => (e === 'user' ? 'null' : '"a-token"'), UNEXPECTED),
  row('a page', [200, 403, 404], PAGE, UNEXPECTED, /HTML page/),
  row('nothing', [200, 204], '', UNEXPECTED),
  row('a redirect', [302], '', UNEXPECTED, /redirected/),
  row('a page at a status that says "not now"', NOT_NOW, PAGE, UNAVAILABLE),
];
