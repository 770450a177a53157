import type { Response } from 'express';
import type { SandboxDialect } from '../dialect.js';
import { sendAnswer, WARNING_TEXT } from '../faults/send-answer.js';

/** What an error of interface B names. */
export type LoginApiFault =
  | 'invalid app_id'
  | 'invalid app_secret'
  | 'invalid auth_key'
  | 'invalid access_token'
  | 'expired access_token';

const TRANSLATED: Readonly<Record<LoginApiFault, string>> = {
  'invalid app_id': 'Hatalı istek, geçersiz app_id',
  'invalid app_secret': 'Hatalı istek, geçersiz app_secret',
  'invalid auth_key': 'Hatalı istek, geçersiz auth_key',
  'invalid access_token': 'Hatalı istek, geçersiz access_token',
  'expired access_token': 'Hatalı istek, süresi dolmuş access_token',
};

/** Answers JSON, as clean as the dialect lets it be. */
export function sendLoginJson(
  res: Response,
  dialect: SandboxDialect,
  status: number,
  body: object,
): void {
  const json = JSON.stringify(body);
  const ahead = dialect.warnings === 'bom' ? '\uFEFF' : dialect.warnings ? WARNING_TEXT : '';
  const contentType = dialect.warnings ? 'text/html; charset=utf-8' : 'application/json';
  sendAnswer(res, { status, contentType, body: ahead + json });
}

/**
 * Answers an error of interface B. The specification shows neither body nor status; this is what the
 * field notes saw: `{error: true, message}`, with HTTP 200 unless `errors: 'http'`.
 */
export function sendLoginError(res: Response, dialect: SandboxDialect, fault: LoginApiFault): void {
  const status = fault.endsWith('access_token') ? 401 : 400;
  const message = dialect.errors === 'localised' ? TRANSLATED[fault] : `Bad Request, ${fault}`;
  sendLoginJson(res, dialect, dialect.errors === 'http' ? status : 200, { error: true, message });
}
