// npm run bench [NAME …] [-- --built --rounds=1]: measures all rows, or those that are named, and puts them into
// RESULTS.md. `--built` does not build again; with `--rounds` nothing is written: it shows that the rows run.
import { buildPackage, installPeers } from './harness/prepare.mjs';
import { sectionOf, writeSection } from './harness/results.mjs';
import { measureRow } from './harness/rounds.mjs';
import { ROWS } from './rows/index.mjs';

const args = process.argv.slice(2);
const wanted = args.filter((arg) => !arg.startsWith('--'));
const unknown = wanted.filter((name) => !ROWS.includes(name));
if (unknown.length > 0) {
  console.error(`There is no bench "${unknown.join('", "')}". There are: ${ROWS.join(', ')}`);
  process.exit(2);
}
const rounds = args.find((arg) => arg.startsWith('--rounds='))?.split('=')[1];

installPeers();
if (!args.includes('--built')) buildPackage();

for (const name of wanted.length > 0 ? wanted : ROWS) {
  const { default: row } = await import(`./rows/${name}.mjs`);
  const begun = performance.now();
  const samples = await measureRow(row, Number(rounds ?? row.rounds ?? 7));
  const section = sectionOf(row, samples);
  console.log(`\n## ${row.title} (${name})\n\n${section}`);
  console.log(`${((performance.now() - begun) / 1000).toFixed(0)} s`);
  if (rounds === undefined) writeSection(`${row.title} (${name})`, section);
}
