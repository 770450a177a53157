/** A piece of HTML that is already safe to send. Made only by {@link html} and {@link trusted}. */
export class Html {
  constructor(private readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (c) => ENTITIES[c] ?? c);

function render(value: unknown): string {
  if (value === undefined || value === null || value === false) return '';
  if (value instanceof Html) return value.toString();
  if (Array.isArray(value)) return value.map(render).join('');
  return escaped(String(value));
}

/**
 * Tagged template that escapes every inserted value, so that a page cannot forget to.
 * `undefined`, `null` and `false` insert nothing; arrays are joined; nested `html` is kept as it is.
 * Attribute values must be quoted.
 */
export function html(strings: TemplateStringsArray, ...values: unknown[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(render)));
}

/** Marks a constant (a style sheet, an inline picture) as HTML. Never for input. */
export const trusted = (text: string): Html => new Html(text);

const STYLE = trusted(`<style>
:root{color-scheme:light dark;--ink:#17232b;--soft:#55636c;--ground:#f5f4f0;--card:#fffefb;--line:#dcd9d0;--main:#0d5c68;--on:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#edf1f2;--soft:#a3b1b8;--ground:#0f161b;--card:#182229;--line:#2d3a43;--main:#6cc5cf;--on:#06252b}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:flex;flex-direction:column;align-items:center;justify-content:center;gap:1rem;padding:clamp(.75rem,5vw,1.5rem);background:var(--ground);color:var(--ink);font:1rem/1.6 system-ui,sans-serif}
header,main,footer{max-width:30rem;width:100%;overflow-wrap:anywhere}
main{padding:clamp(1.25rem,6vw,2rem);background:var(--card);border:1px solid var(--line);border-radius:.75rem}
header a{display:inline-flex;flex-wrap:wrap;align-items:center;gap:.625rem;color:inherit;font-weight:600;text-decoration:none}
header img{display:block;height:2.5rem;max-width:100%;object-fit:contain}
footer{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;font-size:.875rem}
h1{margin:0 0 .5rem;font-size:1.375rem;line-height:1.3;overflow-wrap:anywhere;text-wrap:balance}
p{margin:.5rem 0;color:var(--soft);overflow-wrap:anywhere}
strong{color:var(--ink)}
a{color:var(--main);text-underline-offset:.2em}
small{font-size:.875rem}
form,.next{container-type:inline-size;margin-top:1.5rem;display:flex;flex-wrap:wrap;gap:.75rem}
form+p,.next+p{margin:1rem 0 0}
label{flex:1 1 100%;font-weight:600}
input{display:block;width:100%;margin-top:.375rem;padding:.7rem .5rem;font:1rem/1.6 ui-monospace,Menlo,Consolas,monospace;font-size:clamp(.625rem,calc((100cqi - 1.25rem)/22),1rem);color:inherit;background:var(--card);border:1px solid var(--soft);border-radius:.5rem}
button,.button{flex:1 1 9rem;padding:.7rem 1.25rem;overflow-wrap:anywhere;font:inherit;font-weight:600;text-align:center;text-decoration:none;border-radius:.5rem;border:1px solid var(--soft);background:transparent;color:inherit;cursor:pointer}
.main{background:var(--main);border-color:var(--main);color:var(--on)}
:is(a,button,input):focus-visible{outline:3px solid var(--main);outline-offset:2px}
</style>`);

/** What a {@link page} needs: its own style sheet and no frame around it. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

/** What stands around the content of a {@link page}. */
interface PageFrame {
  /** The language, as in HTML's `lang`. Default "en". */
  readonly lang?: string | undefined;
  readonly header?: Html | string | undefined;
  readonly footer?: Html | string | undefined;
}

/** A small page for a visitor. No script, nothing from elsewhere. */
export const page = (
  title: string,
  content: Html,
  { lang = 'en', header, footer }: PageFrame = {},
): string =>
  html`<!doctype html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
${STYLE}
</head>
<body>
${header}
<main>
${content}
</main>
${footer}
</body>
</html>
`.toString();
