import { userInfo } from '../support/wire.js';
import { type AnswerRow, answerRow, BUSY, type End, NOT_NOW, PAGE } from './answer-row.js';

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
const UNEXPECTED = both('unexpected_response');
const UNAVAILABLE = both('service_unavailable');

const payload = (e: LoginEndpoint): object => LOGIN_ENDPOINTS[e].payload;
const refusal = (message: string) => () => ({ error: true, message });
const row = answerRow<LoginEndpoint>;

const WRONG = 'invalid app_secret';
/** Statuses with which an error in JSON is a refusal, at both endpoints. */
const REFUSALS = [200, 201, 400, 401, 403, 422];
/** Statuses that refuse, with JSON or no body. */
const DENIED = [400, 401, 403, 422];
/** Statuses that say nothing about a key or a token, whatever the body is. */
const NO_ANSWER = [402, 404, 405, 413, 415];
const gone = ends('unexpected_response', 'login_failed');

// biome-ignore format: a table is read by its columns
export const LOGIN_API_ROWS: readonly AnswerRow<LoginEndpoint>[] = [
  row('a payload: its body goes first', [200, 201, 400, 401, 404, 500], payload, both('positive')),
  row('a payload among other fields', [200], (e) => ({ expires_in: 3600, ...payload(e), error: false, status: 'success', message: 'OK' }), both('positive')),
  row('a payload with a byte order mark ahead of it', [200], (e) => `\uFEFF\n${JSON.stringify(payload(e))}`, both('positive')),
  row('a payload with text ahead of it', [200], (e) => `Notice: x\n${JSON.stringify(payload(e))}`, UNEXPECTED),
  row('a payload in a page, or in a query', [200], (e) => (e === 'user' ? `<html>${JSON.stringify(payload(e))}</html>` : 'access_token=a-token'), UNEXPECTED),
  row('a payload that is called an error', [200, 400], (e) => ({ error: true, ...payload(e) }), REFUSED),
  row('a payload with the status "error"', [200, 400], (e) => ({ status: 'Error', ...payload(e) }), REFUSED),
  row('a payload that is called an error, at a status that says nothing', NO_ANSWER, (e) => ({ error: true, ...payload(e) }), UNEXPECTED),

  ...['auth_key', 'access_token'].map((name) => row(`{error, message} about the ${name}`, REFUSALS, refusal(`Bad Request, invalid ${name}`), REFUSED, /log in again/)),
  ...['app_id', 'app_secret'].map((name) => row(`{error, message} about the ${name}`, REFUSALS, refusal(`Bad Request, invalid ${name}`), REFUSED_APP, /"appId" and "appSecret"|log in again/)),
  ...['appId', 'app id', 'APP-ID', 'App Secret', 'app-secret', 'App_Secret'].map((name) => row(`{error, message} about the ${name}`, [400], refusal(`Invalid ${name}.`), REFUSED_APP)),
  row('{error, message} about the app_id after many words', [400], refusal(`${'no, '.repeat(80)}app_id`), REFUSED_APP),
  row('{error, message} about something else with "app" in it', [400], refusal('Your WhatsApp identity is unknown'), REFUSED),
  ...[{ message: WRONG }, { msg: WRONG }, { error: WRONG }, { error: { code: 7, message: WRONG } }, { error_description: WRONG }].map((body) => row(`a reason in ${JSON.stringify(body)}`, REFUSALS, () => body, REFUSED_APP, /"invalid app_secret"/)),
  row('a reason in "error" and another in "error_description"', REFUSALS, () => ({ error: 'invalid_client', error_description: 'wrong app_id' }), REFUSED_APP, /"invalid_client; wrong app_id"/),
  row('a reason in "msg" where "message" is no text', REFUSALS, () => ({ error: true, message: 7, msg: 'Sorry' }), REFUSED, /: "Sorry"/),
  row('{error, message} in another language', REFUSALS, () => ({ error: 1, message: 'Hatalı istek' }), REFUSED, /: "Hatalı istek"/),
  row('{error} and no reason', REFUSALS, () => ({ error: true }), REFUSED, /(auth_key|any more); /),
  row('a message that is no text', REFUSALS, () => ({ error: true, message: { en: 'Sorry' } }), REFUSED, /(auth_key|any more); /),
  row('{error, message} about the app at a status that says nothing', NO_ANSWER, refusal('Bad Request, invalid app_id'), UNEXPECTED, /\(HTTP \d+\)/),
  row('{error, message} at a status that says "not now"', NOT_NOW, refusal('invalid app_id'), UNAVAILABLE, /\(HTTP \d+\)/),

  row('JSON without a payload or an error, at a status that refuses', DENIED, () => ({ ok: false }), REFUSED, /(auth_key|any more); /),
  row('[], at a status that refuses', DENIED, () => [], REFUSED),
  row('JSON that is no object, at a status that refuses', DENIED, 'null', REFUSED),
  row('nothing, at a status that refuses', DENIED, '', REFUSED),
  row('text, at a status that refuses', DENIED, 'Unauthorized', UNEXPECTED),
  row('a page, at a status that refuses: a challenge of a CDN logs nobody out', DENIED, PAGE, UNEXPECTED, /HTML page \(HTTP \d+\)/),

  row('[]', [200], () => [], gone, /another shape|deleted/),
  row('[], at a status that says nothing', NO_ANSWER, () => [], UNEXPECTED),
  row('a user_info of []', [200], () => ({ user_info: [] }), gone),
  row('a user_info that is a list with a user', [200], () => ({ user_info: [userInfo] }), UNEXPECTED),
  row('JSON without a payload or an error', [200, ...NO_ANSWER], () => ({ ok: true }), UNEXPECTED),
  row('{}', [200, ...NO_ANSWER], () => ({}), UNEXPECTED),
  row('a payload of another shape', [200, 404], () => ({ access_token: ['x'], user_info: { user_id: {} } }), UNEXPECTED, /another shape|documented shape: user_info\.user_id/),
  ...['', ' ', null, { a: 1 }].map((access_token) => row(`an access_token that is ${JSON.stringify(access_token)}`, [200], () => ({ access_token }), { authorize: 'unexpected_response' })),
  ...['', null].map((user_id) => row(`a user_id that is ${JSON.stringify(user_id)}`, [200], () => ({ user_info: { ...userInfo, user_id } }), { user: 'unexpected_response' }, /user_info\.user_id/)),

  row('JSON that is no object', [200], (e) => (e === 'user' ? 'null' : '"a-token"'), UNEXPECTED),
  row('a page', [200, 404], PAGE, UNEXPECTED, /HTML page/),
  row('nothing', [200, 204, 404], '', UNEXPECTED),
  row('a redirect', [302], '', UNEXPECTED, /redirected/),
  row('a page at a status that says "not now"', BUSY, PAGE, UNAVAILABLE),
];
