import type { Request, RequestHandler, Router } from 'express';
import express from 'express';
import type { SandboxContext } from '../context.js';
import { DIALECT_SWITCHES } from '../dialect.js';
import { FAULT_SWITCHES } from '../faults/faults.js';
import { originOf } from '../origin.js';
import { troublePage } from '../pages/message-pages.js';
import { redirectWithin, sendPage } from '../pages/send-page.js';
import { bodyParameters, stringParameter } from '../parameters.js';
import { consolePage } from './console-page.js';
import { applyControls, resetControls } from './controls.js';
import { requestsTable } from './requests-table.js';
import { CONSOLE_SCRIPT } from './script.js';

const DAY = 86_400_000;

/** A form on another site can post to this machine too; browsers say so, other clients send neither header. */
function isOwnForm(req: Request): boolean {
  const site = req.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  return req.headers.origin === undefined || req.headers.origin === originOf(req);
}

type Field = (name: string) => string;

/** Carries out one form of the console, then shows the console again. */
function change(act: (field: Field, req: Request) => void): RequestHandler {
  return (req, res) => {
    if (!isOwnForm(req)) {
      return sendPage(res, troublePage('Another site sent this form.'), { status: 403 });
    }
    try {
      act((name) => stringParameter(bodyParameters(req), name), req);
    } catch (error) {
      // The messages of the sandbox's own checks name the field and never quote the value.
      if (!(error instanceof TypeError)) throw error;
      return sendPage(res, troublePage(error.message), { status: 400 });
    }
    redirectWithin(res, '/sandbox/console');
  };
}

/** The console page and its forms. */
export function consoleRouter(context: SandboxContext): Router {
  const { data, faults, dialect, clock, record } = context;
  const router = express.Router();
  const form = express.urlencoded({ extended: false });
  const post = (name: string, act: (field: Field, req: Request) => void) =>
    router.post(`/sandbox/console/${name}`, form, change(act));

  router.get('/sandbox/console', (req, res) => sendPage(res, consolePage(context, originOf(req))));
  router.get('/sandbox/console/requests', (_req, res) => {
    res.setHeader('Content-Type', 'text/html; charset=utf-8');
    res.setHeader('Cache-Control', 'no-store');
    res.end(requestsTable(record.list()).toString());
  });
  router.get('/sandbox/console/script.js', (_req, res) => {
    res.setHeader('Content-Type', 'text/javascript; charset=utf-8');
    res.setHeader('X-Content-Type-Options', 'nosniff');
    res.end(CONSOLE_SCRIPT);
  });

  post('clear', () => record.clear());
  post('rotate', (field) => data.rotateApiKey(field('workspace')));
  post('refund', (field) => data.refundPurchase(field('purchase_code')));
  post('clock', (field) => clock.advance(Number(field('advance'))));
  post('redirect-url', (field) =>
    data.setRedirectUrl(field('app_id'), field('redirect_url').trim() || undefined),
  );
  post('purchases', (field) => {
    const support = field('support');
    data.addPurchase({
      item_id: Number(field('item_id')),
      license_type: field('license_type') || 'Regular',
      ...(support === 'none' && { supported_until: null }),
      ...(support === 'over' && { supported_until: clock.now() - DAY }),
    });
  });
  post('faults', (field, req) => {
    if (field('reset')) faults.clear();
    else applyControls(faults, FAULT_SWITCHES, bodyParameters(req));
  });
  post('dialect', (field, req) => {
    if (field('reset')) resetControls(dialect, DIALECT_SWITCHES);
    else applyControls(dialect, DIALECT_SWITCHES, bodyParameters(req));
  });
  return router;
}
