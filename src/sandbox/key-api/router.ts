import type { RequestHandler, Router } from 'express';
import express from 'express';
import { faultsBeforeAnswer } from '../answer.js';
import type { SandboxContext } from '../context.js';
import { accountDetails } from './account-details.js';
import { sendRefusal, sendSuccess } from './answers.js';
import { callOf } from './call.js';
import { deployment } from './deployment.js';
import { itemsAll, itemsItem } from './items.js';
import { purchasesValidation } from './purchases-validation.js';

/** Each endpoint with its documented `msg` (spec, "Errors") and the HTTP status that was seen with it. */
const ENDPOINTS = [
  ['get', '/api/account/details', accountDetails, 401, 'Invalid request'],
  ['get', '/api/items/all', itemsAll, 404, 'No items found'],
  ['get', '/api/items/item', itemsItem, 404, 'Item Not Found'],
  ['post', '/api/purchases/validation', purchasesValidation, 404, 'Invalid purchase code'],
] as const;

/** The key API (spec, "Interface A ({base_url})"). */
export function keyApiRouter(context: SandboxContext): Router {
  const { dialect } = context;
  const router = express.Router();
  const front: RequestHandler[] = [faultsBeforeAnswer(context), deployment(context)];
  const bodies: RequestHandler[] = [
    express.urlencoded({ extended: false }),
    express.json(),
    context.record.bodies,
  ];
  for (const [method, path, answer, status, msg] of ENDPOINTS) {
    router[method](path, ...front, ...(method === 'post' ? bodies : []), (req, res) => {
      const payload = answer(callOf(context, req));
      if (payload) return sendSuccess(res, dialect, payload);
      const isCapitalised = dialect.capitalisation && answer === itemsAll;
      const sent = isCapitalised ? 'No Items Found' : msg;
      sendRefusal(res, dialect, dialect.errorStatus === 'ok' ? 200 : status, sent);
    });
    router.all(path, ...front, (_req, res) => {
      const allowed = method.toUpperCase();
      res.setHeader('Allow', allowed);
      sendRefusal(res, dialect, 405, `This endpoint takes ${allowed} requests only.`);
    });
  }
  return router;
}
