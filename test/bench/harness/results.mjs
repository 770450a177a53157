import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { ROUNDS } from './rounds.mjs';

const FILE = new URL('../RESULTS.md', import.meta.url);
const HEAD = `# What the benches measured

Written by \`npm run bench\`; \`npm run bench NAME\` replaces one section. Only ratios say something:
absolute numbers are those of one small machine that did other things as well.

Every sample is a fresh process, warmed up before it is measured. In each of ${ROUNDS} rounds every variant
is measured once, one after the other, and a ratio is that of two samples of the same round. "Median"
is that of the rounds, "spread" their middle half. "CPU" is \`process.cpuUsage()\` of the process that does
the work, system time and all threads included; what loads or answers it is in another process. A run
fails when two variants give different answers, or any answer is not the expected status.`;

const anchor = (name) => `<!-- ${name} -->`;

/** Puts a section in the place of the one of the same name, or in its place in the order. */
export function writeSection(row, text, order) {
  const sections = readSections();
  sections.set(row.name, `${anchor(row.name)}\n## ${row.title}\n\n${text.trim()}\n`);
  const sorted = [...sections].sort(([a], [b]) => order.indexOf(a) - order.indexOf(b));
  writeFileSync(FILE, `${HEAD}\n\n${sorted.map(([, section]) => section).join('\n')}`);
}

/** Where and when a section was measured: without it a number is none. */
export function circumstances() {
  const [cpu] = cpus();
  const day = new Date().toISOString().slice(0, 10);
  return `_Node ${process.versions.node}, ${cpus().length} × ${cpu?.model.trim()}, ${day}._`;
}

function readSections() {
  if (!existsSync(FILE)) return new Map();
  const parts = readFileSync(FILE, 'utf8').split(/^<!-- ([\w-]+) -->$/m);
  const sections = new Map();
  for (let i = 1; i < parts.length; i += 2) {
    sections.set(parts[i], `${anchor(parts[i])}\n${parts[i + 1].trim()}\n`);
  }
  return sections;
}
