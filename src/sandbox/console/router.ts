import { readFileSync } from 'node:fs';
import type { ErrorRequestHandler, Response, Router } from 'express';
import express from 'express';
import { ACTIONS, type Action, API } from '../actions.js';
import type { SandboxContext } from '../context.js';
import { sendHtml } from '../pages.js';
import { bodyParameters, form, originOf, Refused } from '../request.js';
import { ownSiteOnly } from './guard.js';
import { CONSOLE, consolePage } from './page.js';

const SCRIPT = readFileSync(new URL('./browser/console.js', import.meta.url), 'utf8');

/** The messages of the sandbox's own checks name the field and never quote the value. */
const refuse: ErrorRequestHandler = (error, _req, _res, next) =>
  next(error instanceof TypeError ? new Refused(400, error.message) : error);

/** @throws Refused when there is no action of this name. */
function actionOf(name = ''): Action {
  const found = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (!found) throw new Refused(404, `There is no such action; GET ${API} lists them.`);
  return found;
}

/** The console, and the API that its forms use as well: `POST /sandbox/api/NAME` with the fields of an action. */
export function consoleRouter(context: SandboxContext): Router {
  const router = express.Router();
  router.use([CONSOLE, API], ownSiteOnly(context));
  router.get(CONSOLE, (req, res) => {
    const policy = "script-src 'self'; connect-src 'self'; form-action 'self'";
    sendHtml(res, consolePage(context, originOf(req)).toString(), policy);
  });
  router.get(`${CONSOLE}/script.js`, (_req, res) => {
    res.set({ 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-cache' });
    res.type('js').send(SCRIPT);
  });

  const send = (res: Response, value: unknown) =>
    res.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }).json(value);
  router.get(API, (_req, res) => {
    const list = Object.entries(ACTIONS).map(([name, { about, fields, isReading }]) => {
      const method = isReading ? 'GET' : 'POST';
      return { method, path: `${API}/${name}`, about, fields };
    });
    send(res, { actions: list });
  });
  router.get(`${API}/:action`, (req, res) => {
    const { isReading, run } = actionOf(req.params.action);
    if (!isReading) {
      res.setHeader('Allow', 'POST');
      throw new Refused(405, 'This action takes POST requests only.');
    }
    send(res, run(context, {}));
  });
  router.post(`${API}/:action`, express.json(), form, (req, res) => {
    const { run, says, isReading } = actionOf(req.params.action);
    const isForm = req.is('application/x-www-form-urlencoded');
    if (!isForm && !req.is('application/json')) {
      throw new Refused(415, 'Send the fields as application/json, or as a form.');
    }
    const result = run(context, isForm ? bodyParameters(req) : req.body);
    // After a form of the page without its script, so that a reload does not send it again.
    if (req.accepts(['json', 'html']) === 'html') res.redirect(303, CONSOLE);
    else send(res, isReading ? result : { ...result, message: says?.(result as never) });
  });
  router.use(API, () => actionOf());
  router.use(refuse);
  return router;
}
