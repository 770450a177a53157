/**
 * A code block of a page. A comment above it, which is not shown, can say:
 *
 * - `<!-- file: shop.js -->`: the block is the next part of that file. Blocks of one file are one
 *   program, in the order of the page. Without it: `main.js` (or `.ts`).
 * - `<!-- into: shop.js -->`: the same, but above its error handler, as readers are told to add it.
 * - `<!-- with: shop.js -->`: the commands of the block are for that program, while it runs.
 * - `<!-- not run: why -->`: the block is left out, for a reason.
 *
 * What a test needs around the code of a page is in `test/system/docs/around`, and not in the page: its readers see it in
 * `node_modules`, as text.
 */
export interface Block {
  /** The line of the page that its code begins on. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** The file that it is a part of; for languages that are programs. */
  readonly file: string | undefined;
  /** Whether it goes above the file's error handler. */
  readonly isInserted: boolean;
  /** The program that must run meanwhile; for commands. */
  readonly with: string | undefined;
  /** Why it is not run; `undefined` when it is. */
  readonly notRun: string | undefined;
}

export const PROGRAM_LANGUAGES: ReadonlySet<string> = new Set(['js', 'ts']);

const ERROR_HANDLER = /^app\.use\(errorHandler/m;
const FENCE = /^( *)```(.*)$/;
const NOTE = /^ *<!-- (file|into|with|not run): (.+?) -->$/;

/** @throws Error that names the line, for what cannot be read: a block must not be lost by a typing mistake. */
export function blocksOf(page: string): Block[] {
  const lines = page.split('\n');
  const blocks: Block[] = [];
  let notes: Record<string, string> = {};
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? '';
    const wrong = (problem: string) => new Error(`line ${i + 1}: ${problem}`);
    const note = NOTE.exec(line);
    const fence = FENCE.exec(line);
    if (note) {
      notes[note[1] ?? ''] = note[2] ?? '';
    } else if (fence) {
      const from = i + 1;
      do i++;
      while (i < lines.length && !/^ *```$/.test(lines[i] ?? ''));
      if (i === lines.length) throw wrong('a block that does not end');
      const indent = fence[1]?.length ?? 0;
      const text = lines
        .slice(from, i)
        .map((each) => each.slice(indent))
        .join('\n');
      const language = fence[2] ?? '';
      if (!/^[a-z]+$/.test(language)) throw wrong('a block without a language');
      const isProgram = PROGRAM_LANGUAGES.has(language);
      blocks.push({
        line: from + 1,
        language,
        text,
        file: isProgram ? (notes.file ?? notes.into ?? `main.${language}`) : undefined,
        isInserted: notes.into !== undefined,
        with: notes.with,
        notRun: notes['not run'],
      });
      notes = {};
    } else if (/^ *<!-- ?(file|into|with|not run)/.test(line)) {
      throw wrong('a comment about a block that cannot be read');
    } else if (Object.keys(notes).length > 0 && line !== '') {
      throw wrong('a comment about a block, and no block follows');
    }
  }
  return blocks;
}

/** The programs of a page's text, by file name. */
export function filesOf(page: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const { file, text, notRun, isInserted } of blocksOf(page)) {
    if (file === undefined || notRun !== undefined) continue;
    const before = files.get(file);
    if (!isInserted) files.set(file, `${before === undefined ? '' : `${before}\n`}${text}\n`);
    else if (before?.match(ERROR_HANDLER)) {
      files.set(
        file,
        before.replace(ERROR_HANDLER, (handler) => `${text}\n\n${handler}`),
      );
    } else throw new Error(`${file}: there is no error handler above which to insert`);
  }
  return files;
}
