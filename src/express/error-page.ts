import { html, trusted } from '../html.js';

const STYLE = trusted(`<style>
:root{color-scheme:light dark;--ink:#1d2129;--soft:#5b6472;--ground:#f6f7f9;--card:#fff;--line:#e3e6eb}
@media(prefers-color-scheme:dark){:root{--ink:#eef0f4;--soft:#a5adba;--ground:#14161a;--card:#1d2026;--line:#30343c}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;background:var(--ground);color:var(--ink);font:1rem/1.6 system-ui,sans-serif}
main{max-width:30rem;width:100%;padding:2rem;background:var(--card);border:1px solid var(--line);border-radius:.75rem}
h1{margin:0 0 .5rem;font-size:1.375rem;line-height:1.3}
p{margin:.5rem 0;color:var(--soft)}
a{color:inherit;text-underline-offset:.2em}
small{color:var(--soft)}
</style>`);

/** What an {@link errorPage} shows. */
export interface ErrorPage {
  readonly title: string;
  readonly detail: string;
  readonly code: string;
  /** Where a link "Log in" leads, if there is one. */
  readonly loginPath?: string | undefined;
}

/** A small page for a person: what happened and what to do. No script, nothing from elsewhere. */
export function errorPage({ title, detail, code, loginPath }: ErrorPage): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
${STYLE}
</head>
<body>
<main>
<h1>${title}</h1>
<p>${detail}</p>
${loginPath && html`<p><a href="${loginPath}">Log in</a></p>`}
<p><small>Code: ${code}</small></p>
</main>
</body>
</html>
`.toString();
}

/** The page needs its own style sheet and nothing else. */
export const ERROR_PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
