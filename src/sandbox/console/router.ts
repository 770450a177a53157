import { readFileSync } from 'node:fs';
import type { ErrorRequestHandler, Router } from 'express';
import express from 'express';
import { ACTIONS, type Action } from '../actions.js';
import type { SandboxContext } from '../context.js';
import { sendHtml } from '../pages.js';
import { bodyParameters, form, originOf, Refused } from '../request.js';
import { ownSiteOnly } from './guard.js';
import { CONSOLE, consolePage } from './page.js';

const SCRIPT = readFileSync(new URL('./browser/console.js', import.meta.url), 'utf8');

/** Where the JSON API of the sandbox is. */
const API = '/sandbox/api';

/** The messages of the sandbox's own checks name the field and never quote the value. */
const refuse: ErrorRequestHandler = (error, _req, _res, next) =>
  next(error instanceof TypeError ? new Refused(400, error.message) : error);

/** @throws Refused when there is no action of this name. */
function actionOf(name = ''): Action {
  const found = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (!found) throw new Refused(404, `There is no such action; GET ${API} lists them.`);
  return found;
}

/** The console page, and its forms: each posts the fields of one action. */
export function consoleRouter(context: SandboxContext): Router {
  const router = express.Router();
  router.use(ownSiteOnly(context));
  router.get('/', (req, res) => {
    const policy = "script-src 'self'; connect-src 'self'; form-action 'self'";
    sendHtml(res, consolePage(context, originOf(req)).toString(), policy);
  });
  router.get('/script.js', (_req, res) => {
    res.set({ 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-cache' });
    res.type('js').send(SCRIPT);
  });
  router.post('/:action', form, (req, res) => {
    const { names, ...fields } = bodyParameters(req);
    const given = names === undefined ? fields : { ...fields, names: [names].flat() };
    actionOf(req.params.action).run(context, given);
    // So that a reload does not send the form again.
    res.redirect(303, CONSOLE);
  });
  router.use(refuse);
  return express.Router().use(CONSOLE, router);
}

/** Everything that the console can do, as JSON: `POST /sandbox/api/NAME` with the fields of an action. */
export function apiRouter(context: SandboxContext): Router {
  const router = express.Router();
  router.use(ownSiteOnly(context));
  const send = (res: express.Response, value: unknown) =>
    res.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }).json(value);
  router.get('/', (_req, res) => {
    const list = Object.entries(ACTIONS).map(([name, { about, fields, isReading }]) => {
      const method = isReading ? 'GET' : 'POST';
      return { method, path: `${API}/${name}`, about, fields };
    });
    send(res, { actions: list });
  });
  router.get('/:action', (req, res) => {
    const { isReading, run } = actionOf(req.params.action);
    if (!isReading) {
      res.setHeader('Allow', 'POST');
      throw new Refused(405, 'This action takes POST requests only.');
    }
    send(res, run(context, {}));
  });
  // A snapshot can be large.
  router.post('/:action', express.json({ limit: '10mb' }), (req, res) => {
    if (!req.is('application/json')) throw new Refused(415, 'Send the fields as application/json.');
    send(res, actionOf(req.params.action).run(context, req.body) ?? {});
  });
  router.use((_req, _res) => actionOf());
  router.use(refuse);
  return express.Router().use(API, router);
}
