/** A piece of HTML that is already safe to send. Made only by {@link html} and {@link trusted}. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
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
  let text = strings[0] ?? '';
  for (let i = 0; i < values.length; i++) text += render(values[i]) + (strings[i + 1] ?? '');
  return new Html(text);
}

/** Marks a constant (a style sheet, an inline picture) as HTML. Never for input. */
export const trusted = (text: string): Html => new Html(text);
