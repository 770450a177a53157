import type { Request, RequestHandler, Router } from 'express';
import express from 'express';
import type { SandboxContext } from '../context.js';
import { originOf } from '../origin.js';
import { troublePage } from '../pages/message-pages.js';
import { redirectWithin, sendPage } from '../pages/send-page.js';
import { bodyParameters, stringParameter } from '../parameters.js';
import { type BoardName, boardsOf, changeBoards, describeBoards } from './boards.js';
import { consolePage } from './console-page.js';
import { ownSiteOnly } from './own-site.js';
import { CONSOLE_SCRIPT } from './script.js';
import { CONSOLE_STYLE } from './style.js';
import { initialForm, readForm } from './switch-form.js';

const PATH = '/sandbox/console';
const DAY = 86_400_000;

type Field = (name: string) => string;

const wantsJson = (req: Request): boolean => (req.headers.accept ?? '').includes('json');

/**
 * Carries out one form of the console, then shows the console again; the console's own script is only told
 * how it went.
 */
function change(section: string, act: (field: Field, req: Request) => unknown): RequestHandler {
  return (req, res) => {
    try {
      act((name) => stringParameter(bodyParameters(req), name), req);
    } catch (error) {
      // The messages of the sandbox's own checks name the field and never quote the value.
      if (!(error instanceof TypeError)) throw error;
      if (wantsJson(req)) res.status(400).json({ message: error.message });
      else sendPage(res, troublePage(error.message), { status: 400 });
      return;
    }
    if (wantsJson(req)) res.json({});
    else redirectWithin(res, `${PATH}#${section}`);
  };
}

/** A moment that a form sends without a zone, in UTC. */
function moment(text: string): number {
  const at = Date.parse(`${text}Z`);
  if (Number.isNaN(at)) throw new TypeError('set: expected a date and a time');
  return at;
}

/** The console page, its forms, its live events, and the switches as JSON for the command line. */
export function consoleRouter(context: SandboxContext): Router {
  const { data, clock, record } = context;
  const boards = boardsOf(context);
  const router = express.Router();
  const form = express.urlencoded({ extended: false });
  const post = (name: string, section: string, act: (field: Field, req: Request) => unknown) =>
    router.post(`${PATH}/${name}`, form, change(section, act));
  const file = (name: string, type: string, text: string) =>
    router.get(`${PATH}/${name}`, (_req, res) => {
      res.setHeader('Content-Type', `${type}; charset=utf-8`);
      res.setHeader('X-Content-Type-Options', 'nosniff');
      res.setHeader('Cache-Control', 'no-cache');
      res.end(text);
    });

  router.use(PATH, ownSiteOnly(context.hosts));
  router.get(PATH, (req, res) => sendPage(res, consolePage(context, originOf(req))));
  router.get(`${PATH}/events`, context.live.serve);
  file('script.js', 'text/javascript', CONSOLE_SCRIPT);
  file('style.css', 'text/css', CONSOLE_STYLE);

  router.get(`${PATH}/switches`, (_req, res) => void res.json(describeBoards(boards)));
  router.patch(`${PATH}/switches`, express.json(), (req, res) => {
    try {
      changeBoards(boards, req.body);
      res.json(describeBoards(boards));
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      res.status(400).json({ message: error.message });
    }
  });
  for (const name of Object.keys(boards) as BoardName[]) {
    const board = boards[name];
    post(name, name, (_field, req) =>
      changeBoards(boards, { [name]: readForm(board, bodyParameters(req)) }),
    );
    // An address of its own: one of the faults is called "reset".
    post(`${name}/reset`, name, () => changeBoards(boards, { [name]: initialForm(board) }));
  }

  post('clear', 'requests', () => record.clear());
  post('rotate', 'credentials', (field) => data.rotateApiKey(field('workspace')));
  post('revoke', 'credentials', (field) => data.revokeApiKey(field('workspace')));
  post('token', 'users', (field) => data.revokeToken(field('access_token')));
  post('refund', 'purchases', (field) => data.refundPurchase(field('purchase_code')));
  post('expire', 'purchases', (field) =>
    data.setSupportedUntil(field('purchase_code'), clock.now() - 1000),
  );
  post('clock', 'clock', (field) => {
    if (field('reset')) clock.reset();
    else if (field('set')) clock.set(moment(field('set')));
    else clock.advance(Number(field('advance')));
  });
  post('redirect-url', 'credentials', (field) =>
    data.setRedirectUrl(field('app_id'), field('redirect_url').trim() || undefined),
  );
  post('purchases', 'purchases', (field) => {
    const support = field('support');
    data.addPurchase({
      item_id: Number(field('item_id')),
      license_type: field('license_type') || 'Regular',
      ...(support === 'none' && { supported_until: null }),
      ...(support === 'over' && { supported_until: clock.now() - DAY }),
    });
  });
  return router;
}
