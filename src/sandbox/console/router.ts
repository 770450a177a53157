import { readFileSync } from 'node:fs';
import type { Request, RequestHandler, Router } from 'express';
import express from 'express';
import { type Html, html } from '../../html.js';
import { type BoardName, boardsOf, changeBoards, describeBoards } from '../boards.js';
import type { SandboxContext } from '../context.js';
import { type Page, redirectWithin, sendPage, troublePage } from '../pages/page.js';
import { bodyParameters, originOf, stringParameter } from '../request.js';
import { ownSiteOnly } from './guard.js';
import {
  clockSection,
  credentialsSection,
  purchasesSection,
  requestsSection,
  usersSection,
} from './sections.js';
import { countOn, readSwitches, switchesSection } from './switches.js';

const SCRIPT = readFileSync(new URL('./browser/console.js', import.meta.url), 'utf8');
const STYLE = readFileSync(new URL('./browser/console.css', import.meta.url), 'utf8');

const PATH = '/sandbox/console';
const DAY = 86_400_000;

const SECTIONS = {
  requests: 'Requests',
  purchases: 'Purchases',
  users: 'Users',
  credentials: 'Credentials',
  clock: 'Clock',
  faults: 'Faults',
  dialect: 'Dialect',
};

/** The console: live requests, and everything that can be copied or changed while the sandbox runs. */
function consolePage(context: SandboxContext, origin: string): Page {
  const boards = boardsOf(context);
  const link = ([id, label]: [string, string]): Html => {
    const on = id === 'faults' || id === 'dialect' ? countOn(boards[id]) : 0;
    return html`<a href="#${id}">${label}${on > 0 && html` <span class="badge warn">${on}<span class="hide"> on</span></span>`}</a>`;
  };
  return {
    title: 'Console',
    current: PATH,
    isWide: true,
    script: `${PATH}/script.js`,
    styleSheet: `${PATH}/style.css`,
    body: html`<div class="bar"><div class="lead"><h1>Console</h1>
<p>What your app asked, and everything you can change while it runs.</p></div>
<p class="pill" id="live" role="status" data-script>Connecting</p></div>
<nav class="contents" id="contents" data-live aria-label="On this page">${Object.entries(SECTIONS).map(link)}</nav>
<div class="console"><div class="column">
${requestsSection(context)}
${purchasesSection(context)}
${usersSection(context)}
</div><div class="column">
${credentialsSection(context, origin)}
${clockSection(context)}
${switchesSection('faults', boards)}
</div></div>
${switchesSection('dialect', boards)}
<p class="toast" id="said" role="status"></p>`,
  };
}

type Field = (name: string) => string;

const wantsJson = (req: Request): boolean => (req.headers.accept ?? '').includes('json');

/**
 * Carries out one form of the console, then shows the console again; the console's own script only gets
 * the outcome.
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
  file('script.js', 'text/javascript', SCRIPT);
  file('style.css', 'text/css', STYLE);

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
      changeBoards(boards, { [name]: readSwitches(board, bodyParameters(req)) }),
    );
    // A separate address: one of the faults is called "reset".
    post(`${name}/reset`, name, () => {
      const names = Object.keys(board.switches);
      changeBoards(boards, { [name]: Object.fromEntries(names.map((key) => [key, null])) });
    });
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
