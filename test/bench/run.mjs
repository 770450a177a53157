// npm run bench [NAME …] [-- --built --long]: measures the rows of a release, or those that are named. `--built` does
// not build again; `--long` measures all rows, and takes as long as fleet (20 minutes) and soak (an hour) should.

import { buildPackage, installPeers } from './harness/prepare.mjs';
import { circumstances, writeRow } from './harness/results.mjs';
import { measureRounds } from './harness/rounds.mjs';
import { goalOf, tableOf } from './harness/table.mjs';
import { RELEASE, ROWS } from './rows/index.mjs';

const args = process.argv.slice(2);
const wanted = args.filter((arg) => !arg.startsWith('--'));
const unknown = wanted.filter((name) => !ROWS.includes(name));
if (unknown.length > 0) {
  console.error(`There is no bench "${unknown.join('", "')}". There are: ${ROWS.join(', ')}`);
  process.exit(2);
}

installPeers();
// What is built already can be measured again.
if (!args.includes('--built')) buildPackage();

const all = args.includes('--long') ? ROWS : RELEASE;
for (const name of wanted.length > 0 ? wanted : all) {
  const begun = performance.now();
  const { default: row } = await import(`./rows/${name}.mjs`);
  process.stdout.write(`\n${row.title} (${name}) `);
  const context = await row.open?.();
  try {
    const samples = await measureRounds(row, context, row.rounds);
    // Without metrics, the goals say all.
    const table = row.metrics && tableOf(row.metrics, samples);
    const goals = row.goals.map((goal) => goalOf(goal, samples));
    const parts = [`${row.about} ${circumstances()}`, table, row.why].filter(Boolean);
    writeRow(row, parts, goals, ROWS);
    const lines = goals.map((goal) => Object.values(goal).join(' | '));
    console.log([table, ...lines].filter(Boolean).join('\n'));
    console.log(`${((performance.now() - begun) / 1000).toFixed(0)} s`);
  } finally {
    await context?.close();
  }
}
