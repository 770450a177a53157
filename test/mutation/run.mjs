// Mutation testing: changes the code in one place at a time, and looks whether a test notices.
//   npm run mutation [folder ...]     a folder of src/; all that folders.mjs lists if none is named
// What a folder came to last time is kept in reports/mutation, and only what has changed since is run
// again. See README.md beside this file.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { FOLDER_NAMES } from './folders.mjs';

const GOAL = 90;

const wanted = process.argv.slice(2);
const unknown = wanted.filter((folder) => !FOLDER_NAMES.includes(folder));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(', ')}; there are ${FOLDER_NAMES.join(', ')}`);
  process.exit(2);
}

/** How many mutants of a folder ended in each state, after a run of it. */
function run(folder) {
  // Far from UTC, so that a time which is taken for a local one shows.
  const env = { ...process.env, MARKETGATE_MUTATED: folder, TZ: 'Pacific/Auckland' };
  const { status } = spawnSync(
    'npx',
    ['--no', '--', 'stryker', 'run', 'test/mutation/stryker.config.mjs'],
    { stdio: 'inherit', env },
  );
  if (status !== 0) return undefined;
  const { files } = JSON.parse(readFileSync(`reports/mutation/${folder}.json`, 'utf8'));
  const counts = {};
  for (const { mutants } of Object.values(files)) {
    for (const mutant of mutants) counts[mutant.status] = (counts[mutant.status] ?? 0) + 1;
  }
  return counts;
}

const table = {};
for (const folder of wanted.length > 0 ? wanted : FOLDER_NAMES) {
  const counts = run(folder);
  const { Killed = 0, Timeout = 0, Survived = 0, NoCoverage = 0 } = counts ?? {};
  const noticed = Killed + Timeout;
  const score = (100 * noticed) / (noticed + Survived + NoCoverage);
  // Without counts the run failed, and the score is no number.
  if (!(score >= GOAL)) process.exitCode = 1;
  table[folder] = { score: Number(score.toFixed(1)), ...counts };
}
console.table(table);
