import type { RequestHandler, Router } from 'express';
import express from 'express';
import { faultsBeforeAnswer } from '../answer.js';
import type { SandboxContext } from '../context.js';
import { accountDetails } from './account-details.js';
import { sendRefusal } from './answers.js';
import { keyApiDeployment } from './deployment.js';
import { itemsAll, itemsItem } from './items.js';
import { purchasesValidation } from './purchases-validation.js';

export function keyApiRouter(context: SandboxContext): Router {
  const router = express.Router();
  const front = [faultsBeforeAnswer(context), keyApiDeployment(context)];
  const bodies = [express.urlencoded({ extended: false }), express.json(), context.record.bodies];
  const only =
    (method: string): RequestHandler =>
    (_req, res) => {
      res.setHeader('Allow', method);
      sendRefusal(res, context.dialect, 405, `This endpoint takes ${method} requests only.`);
    };

  router.get('/api/account/details', front, accountDetails(context));
  router.get('/api/items/all', front, itemsAll(context));
  router.get('/api/items/item', front, itemsItem(context));
  router.post('/api/purchases/validation', front, bodies, purchasesValidation(context));
  for (const path of ['/api/account/details', '/api/items/all', '/api/items/item']) {
    router.all(path, front, only('GET'));
  }
  router.all('/api/purchases/validation', front, only('POST'));
  return router;
}
