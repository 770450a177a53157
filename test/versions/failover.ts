import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createSandbox } from '../../src/sandbox/index.js';
import { FAILOVERS } from './axes.js';
import { type Matrix, makeProject, type Outcome, versionOf } from './project.js';
import { startCluster, startSentinels, type Topology } from './redis-topologies.js';
import type { Table } from './results.js';

const PROCESSES = 3;
/** Milliseconds of traffic before, between and after what fails. */
const CALM = 4000;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Seen {
  readonly verdicts: number;
  readonly wrong: readonly string[];
  readonly tokens: number;
  /** When the store had taken the tokens that it no longer has. */
  readonly lost: readonly number[];
  readonly failures: number;
  readonly longestOut: number;
  readonly slowest: number;
  readonly claims: readonly (readonly [name: string, at: number])[];
  /** How many codes accounts of this process were given to hold. */
  readonly holds: number;
  /** Codes that more accounts hold than may. */
  readonly crowded: readonly string[];
  /** When accounts were given the codes that they do not hold any more. */
  readonly freed: readonly number[];
}

/**
 * The long test of the stores in Redis: 0 wrong verdicts, 0 tokens lost, 0 claims granted twice, 0 holders lost or
 * too many, 0 processes ended. What a frozen master acknowledges after it was replaced is lost by Redis, and counted
 * apart.
 */
export async function failoverTable(matrix: Matrix): Promise<Table> {
  const rows: string[][] = [];
  for (const { kind, version, not } of FAILOVERS) {
    const packages = { [kind]: version };
    const project = await makeProject(matrix, `failover ${kind} ${version}`, packages, 'programs');
    const name = `${kind} ${await versionOf(project, kind)}`;
    const row = [name];
    for (const topology of ['cluster', 'sentinel'] as const) {
      const reason = not?.[topology];
      if (reason !== undefined) {
        row.push(reason);
        continue;
      }
      const { outcome, figures } = await judged(failover(project, kind, topology));
      row.push(`${matrix.cell(`failover of a ${topology}, ${name}`, [outcome])}${figures}`);
    }
    rows.push(row);
  }
  const head = ['with', 'Cluster', 'Sentinel'];
  return { title: 'A master is killed, another one frozen, under traffic', head, rows };
}

type Summary = Awaited<ReturnType<typeof failover>>;

async function judged(run: Promise<Summary>): Promise<{ outcome: Outcome; figures: string }> {
  const summary = await run;
  const { ended, wrong, lost, twice, crowded, freed, verdicts, tokens, claims, holds } = summary;
  const isGood = ended.length + wrong.length + lost + twice + crowded.length + freed === 0;
  // A run without traffic would prove nothing.
  const ok = isGood && verdicts > 1000 && tokens > 300 && claims > 50 && holds > 150;
  const { lostLate, twiceLate, freedLate, longestOut, slowest } = summary;
  const seconds = (ms: number) => (ms / 1000).toFixed(1);
  const late = lostLate + twiceLate + freedLate;
  const figures = `: ${verdicts} verdicts, ${tokens} tokens, ${claims} claims, ${holds} holders; the store was out for ${seconds(longestOut)} s at most, a call took ${seconds(slowest)} s at most, ${late} acknowledged by a master that had been replaced`;
  return { outcome: { ok, output: JSON.stringify(summary, null, 1) }, figures };
}

const TOPOLOGIES = { cluster: startCluster, sentinel: startSentinels };

/** Three processes of an app under traffic, while a master is killed and another one is frozen. */
async function failover(project: string, kind: string, topology: keyof typeof TOPOLOGIES) {
  const sandbox = createSandbox();
  const { baseUrl, apiKey, close } = await sandbox.listen();
  const codes: string[] = sandbox.codes
    .filter(({ item_id }) => item_id === 1042)
    .map((each) => each.code);
  const refunded = codes.splice(1, 2);
  const servers = await TOPOLOGIES[topology]();
  const env = {
    ...process.env,
    ...{ KIND: kind, TOPOLOGY: topology, PORTS: JSON.stringify(servers.ports) },
    SERVICE: JSON.stringify({ baseUrl, apiKey, codes: codes.slice(0, 2), refunded }),
  };
  const ended: string[] = [];
  let isOver = false;
  const children = Array.from({ length: PROCESSES }, (_, i) => {
    const program = join(project, 'programs/failover.cjs');
    const child = fork(program, {
      // Without the loader of TypeScript, which would take the package from `src`.
      execArgv: [],
      env: { ...env, INDEX: `${i}` },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    child.once('exit', (code, signal) => {
      if (!isOver) ended.push(`a process ended: ${code ?? signal}`);
    });
    return child;
  });
  try {
    await Promise.all(children.map((child) => once(child, 'message')));
    for (const [i, fail] of [() => servers.kill(), () => servers.freeze()].entries()) {
      await sleep(CALM);
      const failing = fail();
      await sleep(500);
      const code = refunded[i] as string;
      sandbox.data.refundPurchase(code);
      children[i]?.send({ command: 'hear', code });
      await failing;
    }
    await sleep(CALM);
    const all = await Promise.all(
      children.map(async (child) => {
        const answer = once(child, 'message');
        child.send({ command: 'end' });
        const [{ seen }] = (await answer) as [{ seen: Seen }];
        return seen;
      }),
    );
    return { ended, ...summaryOf(all, servers.stale) };
  } finally {
    isOver = true;
    for (const child of children) child.kill('SIGKILL');
    await servers.stop();
    await close();
  }
}

/** Milliseconds that an acknowledgement can take to arrive. */
const ARRIVAL = 500;

/** @param stale from when until when a frozen master went on that had been replaced. */
function summaryOf(all: readonly Seen[], stale: Topology['stale']) {
  const sum = (read: (seen: Seen) => number) => all.reduce((total, seen) => total + read(seen), 0);
  const isLate = (at: number) => stale.some(([from, to]) => at >= from && at <= to + ARRIVAL);
  const lost = all.flatMap((seen) => seen.lost);
  const freed = all.flatMap((seen) => seen.freed);
  const claims = new Map<string, number[]>();
  for (const [name, at] of all.flatMap((seen) => seen.claims)) {
    claims.set(name, [...(claims.get(name) ?? []), at]);
  }
  const twice = [...claims.values()].filter((times) => times.length > 1);
  return {
    verdicts: sum((seen) => seen.verdicts),
    wrong: all.flatMap((seen) => seen.wrong),
    tokens: sum((seen) => seen.tokens),
    lost: lost.filter((at) => !isLate(at)).length,
    /** Acknowledged by a master that had been replaced while it was frozen. */
    lostLate: lost.filter(isLate).length,
    failures: sum((seen) => seen.failures),
    longestOut: Math.round(Math.max(...all.map((seen) => seen.longestOut))),
    slowest: Math.round(Math.max(...all.map((seen) => seen.slowest))),
    holds: sum((seen) => seen.holds),
    crowded: all.flatMap((seen) => seen.crowded),
    freed: freed.filter((at) => !isLate(at)).length,
    freedLate: freed.filter(isLate).length,
    claims: claims.size,
    twice: twice.filter((times) => !times.some(isLate)).length,
    twiceLate: twice.filter((times) => times.some(isLate)).length,
  };
}
