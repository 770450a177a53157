import type { Request, Response } from 'express';
import { html, trusted } from '../html.js';

/** What the query of the callback says of a confirmation. */
export interface ConfirmationInput {
  /** The attempt that waits for the visitor's yes. */
  readonly id: string;
  /** `undefined`: not answered yet, so show the page. */
  readonly answer: 'continue' | 'cancel' | undefined;
}

/** What the page asks about. */
export interface Confirmation {
  /** The attempt that waits for the answer. */
  readonly id: string;
  /** The account's display name, which anybody can take. */
  readonly name: string;
  /** The account's own user name. */
  readonly username: string;
  /** Where the form goes, by GET: with `confirm` = id and `answer` = "continue" or "cancel". */
  readonly action: string;
}

/** Answers with a page of the app's own: a form to `action`. The headers are set already. */
export type RenderConfirmation = (confirmation: Confirmation, req: Request, res: Response) => void;

/** Reads the query; `undefined` when it is not about a confirmation. */
export function readConfirmation(req: Request): ConfirmationInput | undefined {
  const { confirm: id, answer } = (req.query ?? {}) as Record<string, unknown>;
  if (typeof id !== 'string' || id === '') return undefined;
  return { id, answer: answer === 'continue' || answer === 'cancel' ? answer : undefined };
}

/** Where the page is: the callback itself, without the auth_key, so that a reload asks again. */
export const confirmationPath = (req: Request, id: string): string =>
  `${req.baseUrl ?? ''}${req.path}?${new URLSearchParams({ confirm: id })}`;

const STYLE = trusted(`<style>
:root{color-scheme:light dark;--ink:#1d2129;--soft:#5b6472;--ground:#f6f7f9;--card:#fff;--line:#d5d9e0;--main:#1f5fd0;--on:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#eef0f4;--soft:#a5adba;--ground:#14161a;--card:#1d2026;--line:#3a3f49;--main:#7aa7ff;--on:#0d1424}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;background:var(--ground);color:var(--ink);font:1rem/1.6 system-ui,sans-serif}
main{max-width:28rem;width:100%;padding:2rem;background:var(--card);border:1px solid var(--line);border-radius:.75rem}
h1{margin:0 0 .5rem;font-size:1.375rem;line-height:1.3;overflow-wrap:anywhere;text-wrap:balance}
p{margin:.5rem 0 1.5rem;color:var(--soft)}
.who{margin-bottom:.5rem;overflow-wrap:anywhere}
.who strong{color:var(--ink)}
form{display:flex;flex-wrap:wrap;gap:.75rem}
button{flex:1 1 9rem;padding:.7rem 1.25rem;font:inherit;font-weight:600;border-radius:.5rem;border:1px solid var(--soft);background:transparent;color:inherit;cursor:pointer}
button.main{background:var(--main);border-color:var(--main);color:var(--on)}
button:focus-visible{outline:3px solid var(--main);outline-offset:2px}
</style>`);

/**
 * "Continue as NAME?". A GET form, for the app has a GET route for its callback and perhaps no other;
 * what makes the answer unforgeable is the attempt, which only this browser holds.
 */
export const sendConfirmationPage: RenderConfirmation = (
  { id, name, username, action },
  _req,
  res,
) => {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Continue as ${name}?</title>
${STYLE}
</head>
<body>
<main>
<h1>Continue as <bdi>${name}</bdi>?</h1>
<p class="who">User name <strong><bdi>${username}</bdi></strong></p>
<p>You are about to log in with this marketplace account. If it is not yours, do not go on: somebody may want you to use theirs.</p>
<form method="get" action="${action}">
<input type="hidden" name="confirm" value="${id}">
<button class="main" name="answer" value="continue">Continue</button>
<button name="answer" value="cancel">Not me</button>
</form>
</main>
</body>
</html>
`;
  res.end(page.toString());
};

/** Asks the visitor, with the app's own page or ours. */
export function askForConfirmation(
  req: Request,
  about: Omit<Confirmation, 'action'>,
  render: RenderConfirmation,
): void {
  const { res } = req as { res?: Response };
  if (res === undefined) throw new Error('MarketplaceStrategy: the request has no response');
  res.statusCode = 200;
  res.setHeader('Cache-Control', 'no-store');
  // Not in a frame: the visitor must see what the click is for.
  res.setHeader(
    'Content-Security-Policy',
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
  );
  res.setHeader('X-Frame-Options', 'DENY');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.setHeader('Referrer-Policy', 'no-referrer');
  res.setHeader('Content-Type', 'text/html; charset=utf-8');
  render({ ...about, action: confirmationPath(req, about.id) }, req, res);
}
