const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** HTML in which every value is text. */
export const html = (parts: TemplateStringsArray, ...values: string[]): string =>
  String.raw(
    { raw: parts },
    ...values.map((value) => value.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? '')),
  );

/** @param main is HTML already. */
export const page = (title: string, main: string): string => `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>${html`${title}`}</title>
<meta name="viewport" content="width=device-width">
<style>
:root { color-scheme: light dark; background: light-dark(#fff, #16181c); color: light-dark(#16181c, #eee) }
a { color: light-dark(#0b57d0, #8ab4f8) }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; overflow-wrap: anywhere } th, td { text-align: left; padding: .3rem .8rem .3rem 0 }
:is(th, td):last-child { padding-right: 0 } @media (width < 30rem) { table { font-size: .85rem } }
td { border-top: 1px solid #8888; font-variant-numeric: tabular-nums }
</style></head>
<body><main><h1>${html`${title}`}</h1>${main}</main></body></html>
`;
