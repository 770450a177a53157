import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { ROWS } from '../rows/index.mjs';
import { median, quantile, short } from './numbers.mjs';

const FILE = new URL('../RESULTS.md', import.meta.url);
const HEAD = `# What the benches measured

Written by \`npm run bench\`; \`npm run bench NAME\` replaces one section. Both sides do the same work in fresh processes, warmed
up alike, in turn; the run fails if they answer differently. "×" is the ratio within a round: the median of 7 rounds or more, and
in brackets the middle half. "CPU" includes system time and all threads. Absolute numbers are those of one small machine.
`;

/** The text of a row: what is compared, and a line for each case and metric. */
export function sectionOf(row, samples) {
  const lines = [...samples].flatMap(([name, rounds]) =>
    row.metrics.map((metric) => lineOf(name, metric, rounds)),
  );
  return [
    `${row.about} ${circumstances()}`,
    '',
    '| | by hand | marketgate | × | goal |',
    '| --- | ---: | ---: | ---: | --- |',
    ...lines,
  ].join('\n');
}

/** One line of the table. A metric without a goal (`most`) is only shown. */
function lineOf(name, { key, title, most }, rounds) {
  const [byHand, marketgate] = ['byHand', 'marketgate'].map((side) =>
    rounds.map((sample) => sample[side][key]),
  );
  const ratios = marketgate.map((value, round) => value / byHand[round]);
  const ratio = median(ratios);
  const [low, high] = [0.25, 0.75].map((share) => quantile(ratios, share).toFixed(2));
  const reached = ratio <= most ? 'reached' : '**not reached**';
  const cells = [
    [name, title].filter(Boolean).join(': '),
    short(median(byHand)),
    short(median(marketgate)),
    `${ratio.toFixed(2)} (${low}–${high})`,
    most === undefined ? '' : `≤ ${most}: ${reached}`,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Puts a section in the place of the one with that heading; those that no row has any more go. */
export function writeSection(heading, text) {
  const sections = new Map(
    readFileSync(FILE, 'utf8')
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.split('\n')[0], section.trim()]),
  );
  sections.set(heading, `${heading}\n\n${text}`);
  const nameOf = (each) => /\(([\w-]+)\)$/.exec(each)?.[1];
  const kept = ROWS.flatMap((row) =>
    [...sections].filter(([each]) => nameOf(each) === row).map(([, section]) => `## ${section}\n`),
  );
  writeFileSync(FILE, [HEAD, ...kept].join('\n'));
}

/** Where and when a row was measured. */
function circumstances() {
  const [cpu] = cpus();
  const day = new Date().toISOString().slice(0, 10);
  return `_${day}, Node ${process.versions.node}, ${cpus().length} × ${cpu?.model.trim()}._`;
}
