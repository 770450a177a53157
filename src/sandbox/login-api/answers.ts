import type { Response } from 'express';
import { BOM, sendAnswer, WARNING_TEXT } from '../answer.js';
import type { SandboxDialect } from '../dialect.js';

/** What an error of the login API names, with its translation. */
const FAULTS = {
  'invalid app_id': 'Hatalı istek, geçersiz app_id',
  'invalid app_secret': 'Hatalı istek, geçersiz app_secret',
  'invalid auth_key': 'Hatalı istek, geçersiz auth_key',
  'invalid access_token': 'Hatalı istek, geçersiz access_token',
  'expired access_token': 'Hatalı istek, süresi dolmuş access_token',
};

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
 * Answers an error of the login API. The specification shows neither body nor status; this is what the
 * field notes saw: `{error: true, message}`, with HTTP 200 unless `errors: 'http'`.
 */
export function sendLoginError(
  res: Response,
  dialect: SandboxDialect,
  fault: keyof typeof FAULTS,
): void {
  const status = fault.endsWith('access_token') ? 401 : 400;
  const message = dialect.errors === 'localised' ? FAULTS[fault] : `Bad Request, ${fault}`;
  sendLoginJson(res, dialect, dialect.errors === 'http' ? status : 200, { error: true, message });
}
