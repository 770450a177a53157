import type { Response } from 'express';
import { BOM, sendAnswer, WARNING_TEXT } from '../answer.js';
import type { SandboxDialect } from '../dialect.js';

/** What an error of the login API names, with its translation. */
const PROBLEMS = {
  'invalid app_id': 'Hatalı istek, geçersiz app_id',
  'invalid app_secret': 'Hatalı istek, geçersiz app_secret',
  'invalid auth_key': 'Hatalı istek, geçersiz auth_key',
  'invalid access_token': 'Hatalı istek, geçersiz access_token',
  'expired access_token': 'Hatalı istek, süresi dolmuş access_token',
};

export type LoginProblem = keyof typeof PROBLEMS;

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
  const message = dialect.errors === 'localised' ? PROBLEMS[answer] : `Bad Request, ${answer}`;
  res.locals.msg = message;
  sendLoginJson(res, dialect, dialect.errors === 'http' ? status : 200, { error: true, message });
}
