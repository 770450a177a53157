import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { ROUNDS } from './rounds.mjs';

const FILE = new URL('../RESULTS.md', import.meta.url);
const HEAD = `# What the benches measured

Written by \`npm run bench\`; \`npm run bench NAME\` replaces one row. "×" is the ratio to the row's limit in the same round, of
${ROUNDS} unless the row says otherwise, each in fresh processes; medians, and in brackets the middle half. "CPU" includes system time
and all threads. A run fails when two variants give different answers. Absolute numbers are those of one small machine.

| work | beside what | measured | goal | |
| --- | --- | ---: | ---: | --- |`;

const glanceOf = ({ title }, { what, measured, goal, isReached }) =>
  `| ${title} | ${what} | ${measured} | ≤ ${goal} | ${isReached ? 'reached' : '**not reached**'} |`;

/** Puts a row in the place of the one of the same name, or in its place in the order. */
export function writeRow(row, parts, goals, order) {
  const { glances, sections } = readRows();
  glances.set(
    row.name,
    goals.map((goal) => glanceOf(row, goal)),
  );
  sections.set(row.name, [`## ${row.title} (${row.name})`, ...parts].join('\n\n'));
  const names = order.filter((name) => sections.has(name));
  const lines = names.flatMap((name) => glances.get(name) ?? []);
  const texts = names.map((name) => `${sections.get(name)}\n`);
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
  const [head, ...texts] = text.split(/^(?=## )/m);
  const glances = new Map();
  const sections = new Map();
  for (const section of texts) {
    const [, title, name] = /^## (.+) \(([\w-]+)\)$/m.exec(section);
    sections.set(name, section.trim());
    glances.set(
      name,
      head.split('\n').filter((line) => line.startsWith(`| ${title} |`)),
    );
  }
  return { glances, sections };
}
