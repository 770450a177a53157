import { type Html, html, trusted } from '../../html.js';
import { STYLE } from './style.js';

/** One page of the sandbox, before the layout is put around it. */
export interface Page {
  readonly title: string;
  readonly body: Html;
  /** One card in the middle: the pages a user sees on the way to an app. */
  readonly isNarrow?: boolean;
  /** Uses the whole width of a large window: a page to work with, not to read. */
  readonly isWide?: boolean;
  /** Path of the navigation entry the page belongs to. */
  readonly current?: string;
  /** Path of a script of the sandbox's own; pages work without it. */
  readonly script?: string;
  /** Path of a style sheet of the sandbox's own, beside the one all pages share. */
  readonly styleSheet?: string;
}

const MARK = trusted(
  '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="9" fill="#0b6a58"/>' +
    '<path d="M7 25V14a9 9 0 0 1 18 0v11h-4.5V14a4.500 4.500 0 0 0-9 0v11z" fill="#dff5ea"/>' +
    '<circle cx="16" cy="22.500" r="2.500" fill="#ffc857"/></svg>',
);

const NAVIGATION: readonly (readonly [string, string])[] = [
  ['/', 'Overview'],
  ['/sandbox/console', 'Console'],
  ['/sandbox/logout', 'Log out'],
];

/** The layout all pages share. */
export const layout = (page: Page): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${page.title} · marketgate sandbox</title>
<link rel="icon" href="/media/mark.svg" type="image/svg+xml">
<style>${trusted(STYLE)}</style>
${page.styleSheet && html`<link rel="stylesheet" href="${page.styleSheet}">`}
${page.script && html`<script src="${page.script}" defer></script>`}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><div>
<a class="brand" href="/">${MARK}<div>marketgate <span>sandbox</span></div></a>
<nav aria-label="Sandbox">${NAVIGATION.map(
  ([path, label]) =>
    html`<a href="${path}"${page.current === path && trusted(' aria-current="page"')}>${label}</a>`,
)}</nav>
</div></header>
<main id="main"${page.isNarrow && trusted(' class="narrow"')}${page.isWide && trusted(' class="wide"')}>
${page.body}
</main>
<footer class="foot">A development stand-in for the marketplace service. Nothing here is real, and no data leaves this machine.</footer>
</body>
</html>
`;
