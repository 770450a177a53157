import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { describe, expect, inject, it } from 'vitest';
import { mustRun, runProgram } from './run-program.js';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const tarball = inject('tarball');
const packedFiles = inject('packedFiles');
const installed = join(inject('projects').express5, 'node_modules/marketgate');

/** A line of files.txt: a path, where `?` stands for a letter of a hash and `*` for any name. */
function lineAsPattern(line: string): RegExp {
  const escaped = line.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/\?/g, '[\\w-]').replace(/\*/g, '[^/]*')}$`);
}

it('the packed files are those of the committed list', async () => {
  const committed = await readFile(new URL('./files.txt', import.meta.url), 'utf8');
  const lines = committed.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const unexpected = packedFiles.filter(
    (file) => !lines.some((line) => lineAsPattern(line).test(file)),
  );
  const isPattern = (line: string) => /[*?]/.test(line);
  const missing = lines.filter((line) => !isPattern(line) && !packedFiles.includes(line));
  expect({ unexpected, missing }).toEqual({ unexpected: [], missing: [] });
});

it('the pages in the tarball link to nothing that is not packed', async () => {
  const dead: string[] = [];
  for (const page of packedFiles.filter((file) => file.endsWith('.md'))) {
    const all = await readFile(join(installed, page), 'utf8');
    const text = all.replace(/^ *```[\s\S]*?^ *```/gm, '');
    for (const [, markdown, html] of text.matchAll(/\]\(([^)\s]+)\)|(?:href|src)="([^"]+)"/g)) {
      const link = (markdown ?? html ?? '').replace(/#.*/, '');
      const isRelative = link !== '' && !/^(?:[a-z]+:|\/)/.test(link);
      const path = posix.join(posix.dirname(page), link);
      if (isRelative && !packedFiles.includes(path)) dead.push(`${page}: ${link}`);
    }
  }
  expect(dead).toEqual([]);
});

it('what can be imported looks for no file beside it, because a bundle of an app has none there', async () => {
  const built = packedFiles.filter((file) => /^dist\/(?!cli\.|demo-).*\.cjs$/.test(file));
  expect(built).not.toEqual([]);
  for (const file of built) {
    const code = await readFile(join(installed, file), 'utf8');
    // Where it is missing, this one does without.
    const guarded = /typeof __dirname === .string. \? __dirname : ../;
    expect(code.replace(guarded, '')).not.toMatch(/\b__(?:dir|file)name\b/);
  }
});

it('the content of the packed files names no machine path, no private registry, no source map and not zod', async () => {
  const registry = (
    await mustRun('npm', ['config', 'get', 'registry'], { cwd: REPOSITORY })
  ).trim();
  const { host } = new URL(registry);
  const forbidden = [
    // With the slash, so that a home directory as short as /root matches no route of that name.
    join(REPOSITORY, '/'),
    join(homedir(), '/'),
    ...(host === 'registry.npmjs.org' ? [] : [host]),
    'sourceMappingURL=',
  ];
  const found: string[] = [];
  for (const file of packedFiles) {
    const text = await readFile(join(installed, file), 'utf8');
    for (const needle of forbidden) if (text.includes(needle)) found.push(`${file}: ${needle}`);
    // It is built in, and no dependency: neither code nor types can ask for it.
    if (file.startsWith('dist/') && /(require\(|import\(|from )["']zod/.test(text))
      found.push(`${file}: zod`);
    if (/(["'`\s(]|file:\/\/)\/(home|Users)\/\w/.test(text))
      found.push(`${file}: a home directory`);
  }
  expect(found).toEqual([]);
});

describe('the linters of packages', () => {
  it('publint has neither error nor warning', async () => {
    const bytes = await readFile(tarball);
    const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    const { messages, pkg } = await publint({
      level: 'warning',
      pack: { tarball: buffer as ArrayBuffer },
    });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  it('attw finds the types under every module resolution of today', async () => {
    const cli = createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json');
    const attw = join(dirname(cli), 'dist/index.js');
    const args = [attw, tarball, '--profile', 'node16', '--no-emoji', '--no-color'];
    const { code, stdout, stderr } = await runProgram(process.execPath, args, { cwd: REPOSITORY });
    expect(code, stdout + stderr).toBe(0);
  });
});
