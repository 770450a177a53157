import type { Response } from 'express';
import { BOM, sendAnswer, WARNING_TEXT } from '../answer.js';
import type { SandboxDialect } from '../dialect.js';

/** What an error of the login API names. */
export type LoginProblem =
  | `invalid ${'app_id' | 'app_secret' | 'auth_key' | 'access_token'}`
  | 'expired access_token';

const inTurkish = (problem: LoginProblem): string =>
  `Hatalı istek, ${problem.replace('invalid', 'geçersiz').replace('expired', 'süresi dolmuş')}`;

export function sendLoginJson(
  res: Response,
  { warnings }: SandboxDialect,
  status: number,
  body: object,
): void {
  const ahead = warnings === 'bom' ? BOM : warnings ? WARNING_TEXT : '';
  const contentType = warnings ? 'text/html; charset=utf-8' : 'application/json';
  sendAnswer(res, status, ahead + JSON.stringify(body), contentType);
}

/**
 * Sends what an endpoint gives. The specification shows neither body nor status of an error; this is what the
 * field notes saw: `{error: true, message}`, with HTTP 200 unless `errors: 'http'`.
 */
export function sendLoginAnswer(
  res: Response,
  dialect: SandboxDialect,
  answer: object | LoginProblem,
): void {
  if (typeof answer === 'object') {
    sendLoginJson(res, dialect, 200, answer);
    return;
  }
  const status = answer.endsWith('access_token') ? 401 : 400;
  const message = dialect.errors === 'localised' ? inTurkish(answer) : `Bad Request, ${answer}`;
  res.locals.msg = message;
  sendLoginJson(res, dialect, dialect.errors === 'http' ? status : 200, { error: true, message });
}
