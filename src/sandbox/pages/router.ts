import type { Router } from 'express';
import express from 'express';
import type { SandboxContext } from '../context.js';
import { homePage } from './home-page.js';
import { itemPage } from './item-page.js';
import { notFoundPage } from './message-pages.js';
import { sendPage } from './send-page.js';

/** The pages that belong to no login: the overview and one page per item. */
export function pagesRouter(context: SandboxContext): Router {
  const router = express.Router();
  router.get('/', (_req, res) => sendPage(res, homePage(context)));
  router.get('/preview/:id', (req, res) => {
    const item = context.data.items.find((candidate) => String(candidate.id) === req.params.id);
    if (item) sendPage(res, itemPage(item));
    else sendPage(res, notFoundPage(), { status: 404 });
  });
  return router;
}
