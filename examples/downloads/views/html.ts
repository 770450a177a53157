/** Text that may go into a page as it is. Only {@link html} makes it. */
export class Html {
  constructor(readonly text: string) {}
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

type Part = Html | string | number | undefined | readonly Html[];

const textOf = (part: Part): string => {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  return typeof part === 'object' ? part.map(textOf).join('\n') : escaped(String(part));
};

/** A template whose holes are escaped, unless they were made by it. */
export const html = (parts: TemplateStringsArray, ...holes: Part[]): Html =>
  new Html(parts.reduce((text, part, i) => text + textOf(holes[i - 1]) + part));
