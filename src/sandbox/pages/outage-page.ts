import { html } from '../../html.js';

/** The bare HTML page that web servers and frameworks answer with when they have nothing better. */
export const outagePage = (title: string, text: string): string =>
  html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title></head>
<body><h1>${title}</h1><p>${text}</p></body>
</html>
`.toString();
