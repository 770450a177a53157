import { describe, expect, it, vi } from 'vitest';
import { plainText } from '../../../src/cli/plain-text.js';

const rendered = (markdown: string, columns?: number, color = '0'): string => {
  vi.stubEnv('FORCE_COLOR', color);
  return plainText(markdown, columns);
};

describe('Markdown as plain text', () => {
  it.each<[string, string, string]>([
    ['headings stand out, because all else is indented', '# One\n\nText.', 'One\n\n  Text.'],
    [
      'a code block has no fences, and keeps its lines',
      '```js\na(`b`);\n\n  **c**\n```',
      '    a(`b`);\n\n      **c**',
    ],
    ['code has no backticks', 'Call `a * b * c`.', '  Call a * b * c.'],
    ['emphasis has no asterisks', '**Bold `x`.** An *italic* word.', '  Bold x. An italic word.'],
    [
      'a link has its address after it',
      'See [`the` page](https://x.example/a_b).',
      '  See the page (https://x.example/a_b).',
    ],
    [
      'a list keeps its items',
      '- one\n  and\n- two\n  - three\n\n10. four',
      '  - one and\n  - two\n    - three\n\n  10. four',
    ],
    [
      'the columns of a table are aligned',
      '| code | status |\n|---|:-:|\n| `x` | 1 |\n| longer | **2** |',
      '  code    status\n  x       1\n  longer  2',
    ],
  ])('%s', (_rule, markdown, text) => {
    expect(rendered(markdown)).toBe(text);
  });

  it('lines are no longer than a narrow terminal, and those of an item stay under its text', () => {
    expect(rendered('- one two `three four` five', 16)).toBe(
      '  - one two\n    three four\n    five',
    );
  });

  it('lines are no longer than can be read, however wide the terminal is', () => {
    const lines = rendered('word '.repeat(100), 300).split('\n');
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
  });

  it('colors take no room in a line', () => {
    const markdown = '**one** `two` three';
    expect(rendered(markdown, 15, '1').split('\n')).toHaveLength(1);
    expect(rendered(markdown, 15, '1')).toContain('\x1b[36mtwo\x1b[39m');
  });
});
