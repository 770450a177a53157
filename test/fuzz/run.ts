import { parseArgs } from 'node:util';
import { runBatch } from './support/fuzz.js';
import { allTargets } from './targets/index.js';

const USAGE = `npm run fuzz -- [--cases 1000000] [--minutes 60] [--seed N] [--target NAME …] [--path PATH]

Gives every target hostile input, in turns, until there were that many cases in all or the time is over. Exit code 1
when something broke: the cause, the command that repeats it, and a shortened input. Without --seed, each run has another
one.`;

/** Cases of one turn of a target. */
const BATCH = 200;

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '1000000' },
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    target: { type: 'string', multiple: true },
    path: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const { target: names, path } = values;
const [wanted, firstSeed, minutes] = [
  Number(values.cases),
  Number(values.seed),
  Number(values.minutes),
];
if (!(wanted >= 0 && firstSeed >= 0 && minutes >= 0)) throw new Error(USAGE);
let targets = (await allTargets()).filter(({ name }) => names?.includes(name) ?? true);
if (targets.length === 0) throw new Error(`no target of that name\n${USAGE}`);

const begun = performance.now();
const isOver = () => total >= wanted || performance.now() - begun > minutes * 60_000;
let total = 0;
for (let round = 0; !isOver() && targets.length > 0; round++) {
  for (const target of targets) {
    if (isOver()) break;
    const seed = (firstSeed + round) % 2 ** 31;
    // A path leads to one case.
    const cases = path ? 1 : Math.min(BATCH, wanted - total);
    const { cases: done, failure } = await runBatch(target, { seed, cases, path });
    total += done;
    if (failure === undefined && path === undefined) continue;
    targets = targets.filter((each) => each !== target);
    if (failure === undefined) continue;
    console.error(`\n${target.name} (${target.what}): ${failure}`);
    process.exitCode = 1;
  }
}
const seconds = (performance.now() - begun) / 1000;
console.log(`${total} cases in ${seconds.toFixed(0)} s, first seed ${firstSeed}`);
