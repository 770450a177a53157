import { readFileSync } from 'node:fs';
import type { ErrorRequestHandler, Router } from 'express';
import express from 'express';
import { DAY } from '../clock.js';
import type { SandboxContext } from '../context.js';
import { sendHtml } from '../pages.js';
import { bodyParameters, fieldOf, form, originOf, type ReadField, Refused } from '../request.js';
import { changeSwitches, SWITCHES, switchValues } from '../switches.js';
import { ownSiteOnly } from './guard.js';
import { CONSOLE, consolePage } from './page.js';

const SCRIPT = readFileSync(new URL('./browser/console.js', import.meta.url), 'utf8');

/** What each form of the console does. */
const actionsOf = (context: SandboxContext): Record<string, (field: ReadField) => unknown> => {
  const { data, clock, record } = context;
  return {
    clear: () => record.clear(),
    purchases: (field) =>
      data.addPurchase({
        item_id: Number(field('item_id')),
        license_type: field('license_type') || 'Regular',
        ...(field('support') === 'none' && { supported_until: null }),
        ...(field('support') === 'over' && { supported_until: clock.now() - DAY }),
      }),
    refund: (field) => data.refundPurchase(field('purchase_code')),
    expire: (field) => data.setSupportedUntil(field('purchase_code'), clock.now() - 1000),
    token: (field) => data.revokeToken(field('access_token')),
    rotate: (field) => data.rotateApiKey(field('workspace')),
    revoke: (field) => data.revokeApiKey(field('workspace')),
    'redirect-url': (field) =>
      data.setRedirectUrl(field('app_id'), field('redirect_url').trim() || undefined),
    clock: (field) => (field('reset') ? clock.reset() : clock.advance(Number(field('advance')))),
    reset(field) {
      const names = SWITCHES.filter(({ group }) => group === field('group'));
      changeSwitches(context, Object.fromEntries(names.map(({ name }) => [name, null])));
    },
  };
};

/** The messages of the sandbox's own checks name the field and never quote the value. */
const errors: ErrorRequestHandler = (error, _req, _res, next) =>
  next(error instanceof TypeError ? new Refused(400, error.message) : error);

/** The console page, its forms, its live events, and the switches as JSON for its script and the command line. */
export function consoleRouter(context: SandboxContext): Router {
  const router = express.Router();
  router.use(ownSiteOnly(context.consoleHosts));
  router.get('/', (req, res) => {
    const policy = "script-src 'self'; connect-src 'self'; form-action 'self'";
    sendHtml(res, consolePage(context, originOf(req)).toString(), policy);
  });
  router.get('/events', context.live.serve);
  router.get('/script.js', (_req, res) => {
    res.set({ 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-cache' });
    res.type('js').send(SCRIPT);
  });
  router.get('/switches', (_req, res) => void res.json(switchValues(context)));
  router.patch('/switches', express.json(), (req, res) => {
    changeSwitches(context, req.body);
    res.json(switchValues(context));
  });
  for (const [name, act] of Object.entries(actionsOf(context))) {
    router.post(`/${name}`, form, (req, res) => {
      act(fieldOf(bodyParameters(req)));
      // So that a reload does not send the form again.
      res.redirect(303, CONSOLE);
    });
  }
  router.use(errors);
  return express.Router().use(CONSOLE, router);
}
