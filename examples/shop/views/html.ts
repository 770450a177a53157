/** HTML that is safe to send. Made only by {@link html}. */
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

function render(value: unknown): string {
  if (value === undefined || value === null || value === false) return '';
  if (value instanceof Html) return value.toString();
  if (Array.isArray(value)) return value.map(render).join('');
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/**
 * A template that escapes whatever is put into it, so that no page can forget to. Nested `html` stays
 * as it is, arrays are joined, and `undefined`, `null` and `false` show nothing, for `condition && …`.
 * Attributes must be quoted.
 */
export function html(strings: TemplateStringsArray, ...values: unknown[]): Html {
  return new Html(
    strings.reduce((text, string, index) => text + render(values[index - 1]) + string),
  );
}
