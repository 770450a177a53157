import type { ErrorRequestHandler, Express } from 'express';
import express from 'express';
import { API, SANDBOX_HEADER } from './actions.js';
import { consoleRouter } from './api.js';
import { CONSOLE } from './console.js';
import type { SandboxContext } from './context.js';
import { textFile } from './files.js';
import { keyApiRouter, sendRefusal } from './key-api.js';
import { loginApiRouter, sendLoginError } from './login-api.js';
import { mediaRouter } from './media.js';
import { errorPage, sendPage } from './pages.js';
import { interfaceOf, Refused } from './request.js';

const SENTENCES: Readonly<Record<number, string>> = {
  413: 'The request body is too large.',
  415: 'The request body has an encoding or charset that is not supported.',
};

/** Never the error's own text: a parser quotes the body it choked on, and the body can hold a secret. */
function refusalOf(error: unknown): Refused {
  if (error instanceof Refused) return error;
  const { status = 500 } = Object(error) as { status?: number };
  const isBug = !(status >= 400 && status < 500);
  if (isBug) return new Refused(500, 'The sandbox failed: this is a bug in marketgate/sandbox.');
  return new Refused(status, SENTENCES[status] ?? 'The request body or address is not readable.');
}

/** Answers what the routes could not, in the style of the interface that was asked, without a stack. */
const errors =
  (context: SandboxContext): ErrorRequestHandler =>
  (error, req, res, _next) => {
    if (res.headersSent) return void res.destroy();
    const { status, message } = refusalOf(error);
    const part = interfaceOf(req.path);
    if (part === 'key-api') return sendRefusal(context, res, status, message);
    if (part === 'login-api') return sendLoginError(context, res, status, message);
    const isApi = req.path.startsWith(API);
    const isPage = req.accepts(isApi ? ['json', 'html'] : ['html', 'json']) === 'html';
    if (!isPage) res.status(status).json({ message });
    else sendPage(res, errorPage(message, status));
  };

/** Puts the whole service together as an Express app, for Express 4.18 and 5 alike. */
export function createApp(context: SandboxContext): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use((_req, res, next) => {
    res.setHeader(SANDBOX_HEADER, 'true');
    next();
  });
  // Neither is recorded. Whoever opens the address of the sandbox wants to see what there is; browsers ask for the other.
  app.get('/', (_req, res) => res.redirect(302, CONSOLE));
  app.get('/favicon.ico', (_req, res) => {
    res.type('svg').send(textFile('pictures/northlight.svg'));
  });
  // For whoever waits for the start: docker, CI, a test of another process.
  app.get('/health', (_req, res) => void res.json({ status: 'ok' }));
  app.use(context.record.recordRequest);
  app.use(keyApiRouter(context));
  app.use(loginApiRouter(context));
  app.use(consoleRouter(context));
  app.use(mediaRouter());
  app.use((req, res) => {
    if (/-api$/.test(interfaceOf(req.path))) throw new Refused(404, 'There is no such endpoint.');
    sendPage(res, errorPage('There is no such page.', 404));
  });
  app.use(errors(context));
  return app;
}
