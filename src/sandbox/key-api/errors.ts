import type { Response } from 'express';
import type { SandboxDialect } from '../dialect.js';
import { sendAnswer } from '../faults/send-answer.js';
import { localisedMsg, localisedStatus } from './localised.js';

/** The four endpoints of interface A. */
export type KeyApiEndpoint =
  | 'account-details'
  | 'items-all'
  | 'items-item'
  | 'purchases-validation';

/** The documented `msg` of each endpoint (spec, "Errors"). */
export const MESSAGES: Readonly<Record<KeyApiEndpoint, string>> = {
  'account-details': 'Invalid request',
  'items-all': 'No items found',
  'items-item': 'Item Not Found',
  'purchases-validation': 'Invalid purchase code',
};

function sendJson(res: Response, status: number, body: object): void {
  sendAnswer(res, { status, contentType: 'application/json', body: JSON.stringify(body) });
}

/** Answers success: `{status: "success", …}`. */
export function sendSuccess(res: Response, dialect: SandboxDialect, payload: object): void {
  sendJson(res, 200, { status: localisedStatus('success', dialect), ...payload });
}

/**
 * Answers the documented error of an endpoint. The specification shows no HTTP statuses; these are the
 * ones of the field notes, or 200 with `errorStatus: 'ok'`.
 */
export function sendError(res: Response, dialect: SandboxDialect, endpoint: KeyApiEndpoint): void {
  const status = endpoint === 'account-details' ? 401 : 404;
  const msg =
    dialect.capitalisation && endpoint === 'items-all' ? 'No Items Found' : MESSAGES[endpoint];
  sendJson(res, dialect.errorStatus === 'ok' ? 200 : status, {
    status: localisedStatus('error', dialect),
    msg: localisedMsg(msg, dialect),
  });
}

/** Answers a request that is not one of the documented errors: a missing parameter, bad JSON. */
export function sendRefusal(
  res: Response,
  dialect: SandboxDialect,
  status: number,
  msg: string,
): void {
  sendJson(res, status, {
    status: localisedStatus('error', dialect),
    msg: localisedMsg(msg, dialect),
  });
}
