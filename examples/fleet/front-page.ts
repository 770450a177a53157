import type { RequestHandler } from 'express';
import { html, page } from './page.js';

/** Who is logged in, and where to go. */
export const frontPage: RequestHandler = (req, res) => {
  const { name } = (req.user ?? {}) as { name?: string };
  const who = name
    ? html`<p>Logged in as ${name}, says worker process ${`${process.pid}`}. <a href="/me">What the marketplace knows of you</a></p>
<form method="post" action="/logout"><button>Log out</button></form>`
    : html`<p>Worker process ${`${process.pid}`} does not know you. <a href="/login">Log in with the marketplace</a></p>`;
  res.set('Cache-Control', 'no-store');
  res.send(
    page(
      'A fleet',
      `${who}<p><a href="/fleet">What each worker has done</a> · <a href="/items">The catalogue</a></p>`,
    ),
  );
};
