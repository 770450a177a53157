/**
 * Reads a table of text, a record a line, whose first line names the columns: `|` stands between columns, and
 * an indented line goes on with the record above. A cell that is missing reads as an empty string.
 */
export function parseTable<Column extends string>(table: string): Record<Column, string>[] {
  const lines = table.trim().replaceAll('\n ', ' | ').split('\n');
  const [columns = [], ...rows] = lines.map((line) => line.split('|').map((cell) => cell.trim()));
  return rows.map((cells) => {
    const entries = columns.map((column, index) => [column, cells[index] ?? '']);
    return Object.fromEntries(entries) as Record<Column, string>;
  });
}
