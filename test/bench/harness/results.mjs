import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { ROUNDS } from './rounds.mjs';

const FILE = new URL('../RESULTS.md', import.meta.url);
const HEAD = `# What the benches measured

Written by \`npm run bench\`; \`npm run bench NAME\` replaces one row. "×" is the ratio to the row's limit: in each of ${ROUNDS}
rounds every variant is measured once, in a fresh process, and a ratio is that of two samples of one round. Medians; in
brackets the middle half. "CPU" is that of the process that does the work, with system time and all threads. A run fails
when two variants give different answers. Absolute numbers are those of one small machine.

| work | beside what | measured | goal | |
| --- | --- | ---: | ---: | --- |`;

const anchor = (name) => `<!-- ${name} -->`;
const glanceOf = ({ title }, { what, measured, goal, isReached }) =>
  `| ${title} | ${what} | ${measured} | ≤ ${goal} | ${isReached ? 'reached' : '**not reached**'} |`;

/** Puts a row in the place of the one of the same name, or in its place in the order. */
export function writeRow(row, parts, goals, order) {
  const { glances, sections } = readRows();
  glances.set(
    row.name,
    goals.map((goal) => glanceOf(row, goal)),
  );
  sections.set(row.name, [`## ${row.title}`, ...parts].join('\n\n'));
  const names = order.filter((name) => sections.has(name));
  const lines = names.flatMap((name) => glances.get(name) ?? []);
  const texts = names.map((name) => `${anchor(name)}\n${sections.get(name)}\n`);
  writeFileSync(FILE, `${[HEAD, ...lines].join('\n')}\n\n${texts.join('\n')}`);
}

/** Where and when a row was measured: without it a number is none. */
export function circumstances() {
  const [cpu] = cpus();
  const day = new Date().toISOString().slice(0, 10);
  return `_${day}, Node ${process.versions.node}, ${cpus().length} × ${cpu?.model.trim()}._`;
}

/** What the file says of each row: its lines in the table at the top, and its section. */
function readRows() {
  const text = existsSync(FILE) ? readFileSync(FILE, 'utf8') : '';
  const [head, ...parts] = text.split(/^<!-- ([\w-]+) -->$/m);
  const glances = new Map();
  const sections = new Map();
  for (let i = 0; i < parts.length; i += 2) {
    const section = parts[i + 1].trim();
    const [title] = section.slice('## '.length).split('\n');
    sections.set(parts[i], section);
    glances.set(
      parts[i],
      head.split('\n').filter((line) => line.startsWith(`| ${title} |`)),
    );
  }
  return { glances, sections };
}
