import type { RequestHandler } from 'express';
import type { WorkerTally } from './messages.js';
import { html, page } from './page.js';

/** What each worker has answered, and what it asked the marketplace: a page, or JSON. */
export function fleetPage(askTally: () => Promise<WorkerTally[]>): RequestHandler {
  return (req, res, next) => {
    askTally().then((workers) => {
      res.set('Cache-Control', 'no-store');
      if (req.accepts(['json', 'html']) === 'html') res.send(view(workers));
      else res.json({ answeredBy: process.pid, workers });
    }, next);
  };
}

function view(workers: readonly WorkerTally[]): string {
  const rows = workers.map(({ worker, pid, answered, upstream }) => {
    const calls = Object.entries(upstream).map(([what, count]) => html`${what}: ${`${count}`}`);
    return `${html`<tr><td>${`${worker}`}<td>${`${pid}`}<td>${`${answered}`}<td>`}${calls.join('<br>') || 'none'}`;
  });
  return page(
    'The fleet',
    `<table><tr><th>Worker<th>Process<th>Requests answered<th>Calls to the marketplace${rows.join('')}</table>
<p>A code that was asked for in every worker cost one call in all.</p>`,
  );
}
