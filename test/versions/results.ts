export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A cell that is broken, with what its programs printed. */
export interface Failure {
  readonly name: string;
  readonly output: string;
}

/** The marks of a cell. Anything else in its place is why there is none. */
export const OK = 'ok';
export const FAILED = 'FAILED';

/** Instead of a mark, where there is nothing to try. */
export const NONE = '–';

/** Printed output is cut: the first complaints are the ones that count. */
const MOST_LINES = 20;

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

const tableText = ({ title, head, rows }: Table): string =>
  [`## ${title}`, '', line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');

/** The matrix as a page, without the paths of the machine that it ran on. */
export function toMarkdown(tables: readonly Table[], failures: readonly Failure[]): string {
  const cells = tables
    .flatMap(({ rows }) => rows.flatMap((row) => row.slice(1)))
    .map((mark) => mark.split(':')[0])
    .filter((mark) => mark === OK || mark === FAILED);
  const count = cells.filter((mark) => mark === OK).length;
  const broken = failures.map(({ name, output }) =>
    [`### ${name}`, '', '```', ...output.split('\n').slice(0, MOST_LINES), '```'].join('\n'),
  );
  return [
    '# Versions',
    'Written by `npm run matrix`: the packed tarball in empty projects. Each cell does real work, see `programs/`, `apps/`, `types/` and the guides.',
    `${count} of ${cells.length} cells are ok.`,
    ...tables.map(tableText),
    ...(broken.length > 0 ? ['## What failed', ...broken] : []),
  ]
    .join('\n\n')
    .replaceAll(/(\/[\w.-]+)+\/marketgate-matrix-\w+/g, '…')
    .concat('\n');
}
