import { parseArgs } from 'node:util';
import { runBatch } from './support/fuzz.js';
import { allTargets } from './targets/index.js';

const USAGE = `npm run fuzz -- [--cases 1000000] [--minutes 60] [--seed N] [--target NAME …] [--path PATH]

Gives every target hostile input until there were that many cases in all, or the time is over. Each
target has the same time, so that a slow one does not hold up the others. Ends with a table; with exit
code 1 when something broke: the cause, the command that repeats it, and a shortened input. Without --seed, each run
has another one. Also read from FUZZ_CASES, FUZZ_MINUTES and FUZZ_SEED.`;

/** Cases of a target's first batch, and about how long the later ones take, in seconds. */
const FIRST_BATCH = 100;
const BATCH_SECONDS = 2;

// Reasons of failed logins are printed in development only.
process.env.NODE_ENV ??= 'test';

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: process.env.FUZZ_CASES ?? '1000000' },
    minutes: { type: 'string', default: process.env.FUZZ_MINUTES ?? '60' },
    seed: { type: 'string', default: process.env.FUZZ_SEED },
    target: { type: 'string', multiple: true },
    path: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}

const wanted = values.target;
const targets = (await allTargets()).filter(({ name }) => wanted?.includes(name) ?? true);
if (targets.length === 0) throw new Error(`no target of that name\n${USAGE}`);
// A path leads to one case.
const wantedCases = values.path ? 1 : Number(values.cases);
const firstSeed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const minutes = Number(values.minutes);
if (![wantedCases, firstSeed, minutes].every((number) => number >= 0)) throw new Error(USAGE);
const rows = new Map(targets.map(({ name }) => [name, { cases: 0, seconds: 0 }]));
const failures: string[] = [];
const begun = performance.now();
const isOver = (): boolean => performance.now() - begun > minutes * 60_000;
let total = 0;
const failed = new Set<string>();

console.log(`seed ${firstSeed}, ${targets.length} targets, ${wantedCases} cases`);
// Round after round, so that each target had its share whenever the time is over.
for (let round = 0; total < wantedCases && !isOver() && failed.size < targets.length; round++) {
  for (const target of targets) {
    const row = rows.get(target.name);
    if (row === undefined || failed.has(target.name) || total >= wantedCases || isOver()) continue;
    const start = performance.now();
    const seed = (firstSeed + round) % 2 ** 31;
    const inTime = Math.ceil((row.cases / row.seconds) * BATCH_SECONDS) || FIRST_BATCH;
    const cases = Math.min(inTime, wantedCases - total);
    const result = await runBatch(target, { seed, cases, path: values.path });
    row.cases += result.cases;
    row.seconds += (performance.now() - start) / 1000;
    total += result.cases;
    if (result.failure !== undefined) {
      failed.add(target.name);
      failures.push(`${target.name}: ${result.failure}`);
    }
  }
}

console.table(
  targets.map(({ name, what }) => {
    const { cases, seconds } = rows.get(name) ?? { cases: 0, seconds: 0 };
    return { name, cases, 'cases/s': Math.round(cases / Math.max(seconds, 0.001)), what };
  }),
);
const seconds = (performance.now() - begun) / 1000;
console.log(
  `\n${total} cases in ${seconds.toFixed(0)} s (${Math.round(total / seconds)} a second), seed ${firstSeed}, ${failures.length} failed`,
);
for (const failure of failures) console.error(`\n${failure}`);
process.exitCode = failures.length > 0 ? 1 : 0;
