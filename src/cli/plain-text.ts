import { stripVTControlCharacters, styleText } from 'node:util';
import { table } from './io.js';

/** The longest line that is easy to read. */
const MAX_WIDTH = 100;
/** A list item's marker. */
const MARKER = /^\s*(?:[-*]|\d+\.) /;

/**
 * Renders Markdown as plain text: headings, paragraphs, lists, code blocks, tables and links. Only headings are not
 * indented, so that they stand out without colors.
 * @param columns - of the terminal.
 */
export function plainText(markdown: string, columns = 80): string {
  const width = Math.min(columns, MAX_WIDTH);
  return markdown
    .split(/^```.*\n([\s\S]*?)\n```$/m)
    .flatMap((part, n) => {
      const isCode = n % 2 === 1;
      if (isCode) return indented(part, '    ');
      const blocks = part.split(/\n{2,}/).map((block) => block.replace(/^\n+|\s+$/g, ''));
      return blocks.filter(Boolean).map((block) => blockText(block, width));
    })
    .join('\n\n');
}

/** A heading, a table, a list or a paragraph. */
function blockText(block: string, width: number): string {
  if (/^#+ /.test(block)) return styleText('bold', inlineText(block.replace(/^#+ /, '')));
  if (block.startsWith('|')) return indented(tableText(block), '  ');
  const items = block.split(new RegExp(`\\n(?=${MARKER.source.slice(1)})`));
  const lines = items.map((item) => {
    const [marker = ''] = MARKER.exec(item) ?? [];
    const text = inlineText(item.slice(marker.length).replace(/\s+/g, ' '));
    const wrapped = wrap(text, width - 2 - marker.length);
    return `${marker}${wrapped.join(`\n${' '.repeat(marker.length)}`)}`;
  });
  return indented(lines.join('\n'), '  ');
}

function tableText(block: string): string {
  const [head = '', , ...rows] = block.split('\n');
  const cellsOf = (row: string): string[] => row.split('|').slice(1, -1).map(unstyled);
  return table([head, ...rows].map(cellsOf));
}

/** Text without the marks of Markdown, and without colors. */
export const unstyled = (text: string): string => stripVTControlCharacters(inlineText(text)).trim();

function inlineText(text: string): string {
  const marks = /`([^`]+)`|\*\*(.+?)\*\*|\*(\w[^*]*)\*|\[([^\]]+)\]\(([^)\s]+)\)/g;
  return text.replace(marks, (_found, code, bold, italic, label, address) => {
    if (code) return styleText('cyan', code);
    if (label) return `${inlineText(label)} (${address})`;
    return bold ? styleText('bold', inlineText(bold)) : styleText('italic', inlineText(italic));
  });
}

/** Breaks a text into lines. Colors take no room. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)} ${word}`;
    const isTooLong = stripVTControlCharacters(longer).length > width;
    if (lines.length > 0 && !isTooLong) lines.pop();
    lines.push(isTooLong ? word : longer);
  }
  return lines;
}

const indented = (text: string, by: string): string => text.replace(/^(?=.)/gm, by);
