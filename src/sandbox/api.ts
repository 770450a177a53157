import type { ErrorRequestHandler, Response, Router } from 'express';
import express from 'express';
import { ACTIONS, type Action, API } from './actions.js';
import { CONSOLE, consolePage } from './console.js';
import type { SandboxContext } from './context.js';
import { textFile } from './files.js';
import { ownSiteOnly } from './guard.js';
import { sendHtml } from './pages.js';
import { bodyParameters, fieldOf, form, originOf, queryParameters, Refused } from './request.js';

/** The messages of the sandbox's own checks name the field and never quote the value. */
const refuse: ErrorRequestHandler = (error, _req, _res, next) =>
  next(error instanceof TypeError ? new Refused(400, error.message) : error);

/** @throws Refused when there is no action of this name. */
function actionOf(name = ''): Action {
  const found = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (!found) throw new Refused(404, `There is no such action; GET ${API} lists them.`);
  return found;
}

const send = (res: Response, value: unknown) =>
  res.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }).json(value);

/** The console, and the API that its forms use as well: `POST /sandbox/api/NAME` with the fields of an action. */
export function consoleRouter(context: SandboxContext): Router {
  /** What the last action on each purchase says of what it is now, by its code. */
  const saysOf = new Map<string, Action['says']>();
  /** What the last action on anything else has said. */
  let said: string | undefined;
  const router = express.Router();
  router.use([CONSOLE, API], ownSiteOnly(context));
  router.get(CONSOLE, (req, res) => {
    const item = fieldOf(queryParameters(req))('item');
    const page = consolePage(context, { origin: originOf(req), said, saysOf, item });
    sendHtml(res, `${page}`, "script-src 'self'; connect-src 'self'; form-action 'self'");
  });
  router.get(`${CONSOLE}/script.js`, (_req, res) => {
    res.set({ 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-cache' });
    res.type('js').send(textFile('console.js'));
  });

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
    if (isReading) return send(res, result);
    const message = says?.(result as never);
    const { code }: { code?: string } = result;
    if (code === undefined) said = message;
    else saysOf.set(code, says);
    if (req.accepts(['json', 'html']) === 'json') return send(res, { ...result, message });
    // A redirect, so that a reload does not send the form again.
    const row = context.data.purchases.findIndex((each) => each.purchase_code === code);
    res.redirect(303, row < 0 ? CONSOLE : `${CONSOLE}#purchase-${row}`);
  });
  router.use(API, () => actionOf());
  router.use(refuse);
  return router;
}
