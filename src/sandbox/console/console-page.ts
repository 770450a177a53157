import { type Html, html } from '../../html.js';
import type { SandboxContext } from '../context.js';
import type { Page } from '../pages/page.js';
import { type BoardName, boardsOf } from './boards.js';
import { clockSection } from './clock-section.js';
import { credentialsSection } from './credentials-section.js';
import { peopleSection } from './people-section.js';
import { purchasesSection } from './purchases-section.js';
import { ROWS, requestsSection } from './requests-table.js';
import { countOn, switchesSection } from './switches-section.js';

const SECTIONS = {
  requests: 'Requests',
  purchases: 'Purchases',
  users: 'Users',
  credentials: 'Credentials',
  clock: 'Clock',
  faults: 'Faults',
  dialect: 'Dialect',
};

const isBoard = (id: string): id is BoardName => id === 'faults' || id === 'dialect';

/** Where to go on this page, and what is on right now. */
function contents(context: SandboxContext): Html {
  const boards = boardsOf(context);
  return html`<nav class="contents" id="contents" data-live aria-label="On this page">${Object.entries(
    SECTIONS,
  ).map(([id, label]) => {
    const on = isBoard(id) ? countOn(boards[id]) : 0;
    return html`<a href="#${id}">${label}${on > 0 && html` <span class="badge warn">${on}<span class="hide"> on</span></span>`}</a>`;
  })}</nav>`;
}

/** The console: live requests, and everything that can be copied or changed while the sandbox runs. */
export function consolePage(context: SandboxContext, origin: string): Page {
  const boards = boardsOf(context);
  return {
    title: 'Console',
    current: '/sandbox/console',
    isWide: true,
    script: '/sandbox/console/script.js',
    styleSheet: '/sandbox/console/style.css',
    body: html`<div class="bar"><div class="lead"><h1>Console</h1>
<p>What your app asked, and everything you can change while it runs.</p></div>
<p class="pill" id="live" role="status" data-script>Connecting</p></div>
${contents(context)}
<div class="console"><div class="column">
${requestsSection(context.record.latest(ROWS))}
${purchasesSection(context)}
${peopleSection(context)}
</div><div class="column">
${credentialsSection(context, origin)}
${clockSection(context)}
${switchesSection('faults', boards)}
</div></div>
${switchesSection('dialect', boards)}
<p class="toast" id="said" role="status"></p>`,
  };
}
