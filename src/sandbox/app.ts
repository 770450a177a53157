import type { ErrorRequestHandler, Express } from 'express';
import express from 'express';
import { consoleRouter } from './console/router.js';
import type { SandboxContext } from './context.js';
import { sendRefusal } from './key-api/answers.js';
import { ParameterRefused } from './key-api/parameters.js';
import { keyApiRouter } from './key-api/router.js';
import { sendLoginJson } from './login-api/answers.js';
import { loginApiRouter } from './login-api/router.js';
import { mediaRouter } from './media/router.js';
import { homePage } from './pages/home-page.js';
import { itemPage } from './pages/item-page.js';
import { notFoundPage, sendPage, troublePage } from './pages/page.js';
import { interfaceOf } from './record.js';

function statusOf(error: unknown): number {
  const status: unknown =
    typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : 500;
}

/** Never the error's own text: a parser quotes the body it choked on, and the body can hold a secret. */
function sentenceOf(error: unknown, status: number): string {
  if (error instanceof ParameterRefused) return error.message;
  if (status === 413) return 'The request body is too large.';
  if (status === 415) return 'The request body has an encoding or charset that is not supported.';
  if (status < 500) return 'The request body or address could not be read.';
  return 'The sandbox failed to answer. This is a bug in marketgate/sandbox.';
}

/** Answers what the routes could not, in the style of the interface that was asked, without a stack. */
const errors =
  ({ dialect }: SandboxContext): ErrorRequestHandler =>
  (error, req, res, _next) => {
    if (res.headersSent) {
      res.destroy();
      return;
    }
    const status = statusOf(error);
    const sentence = sentenceOf(error, status);
    const part = interfaceOf(req.path);
    if (part === 'key-api') return sendRefusal(res, dialect, status, sentence);
    if (part === 'login-api') {
      return sendLoginJson(res, dialect, status, { error: true, message: sentence });
    }
    sendPage(res, troublePage(sentence), { status });
  };

/** Puts the whole service together as an Express app, for Express 4.18 and 5 alike. */
export function createApp(context: SandboxContext): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(context.record.arrivals);
  app.use(keyApiRouter(context));
  app.use(loginApiRouter(context));
  app.use(consoleRouter(context));
  app.use(mediaRouter(context));
  app.get('/', (_req, res) => sendPage(res, homePage(context)));
  app.get('/preview/:id', (req, res, next) => {
    const item = context.data.items.find(({ id }) => String(id) === req.params.id);
    if (item) sendPage(res, itemPage(item));
    else next();
  });
  app.use((_req, res) => sendPage(res, notFoundPage(), { status: 404 }));
  app.use(errors(context));
  return app;
}
