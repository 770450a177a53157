import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSandbox } from '../../src/sandbox/index.js';
import { FAILOVERS } from './axes.js';
import { type Matrix, makeProject, type Table, titleOf } from './project.js';
import { startCluster, startSentinels, type Topology } from './redis-topologies.js';

const PROCESSES = 3;
/** Milliseconds of traffic before, between and after what fails. */
const CALM = 4000;

/** What a process saw. */
interface Seen {
  /** Negative answers, or none, where the service says yes; and the other way round. */
  readonly wrong: readonly string[];
  /** Codes that more accounts hold than may. */
  readonly crowded: readonly string[];
  readonly verdicts: number;
  readonly tokens: number;
  /** How many codes accounts of this process were given to hold. */
  readonly holds: number;
  readonly claims: readonly (readonly [name: string, at: number])[];
  /** When the store had taken the tokens and holders that it no longer has. */
  readonly lost: readonly number[];
  readonly longestOut: number;
  readonly slowest: number;
}

/**
 * The long test of the stores in Redis: no wrong verdict, no token or holder lost, no claim granted twice, no holder
 * too many, no process ended.
 */
export async function failoverTable(matrix: Matrix): Promise<Table> {
  const rows: string[][] = [];
  for (const { kind, version, not } of FAILOVERS) {
    const project = await makeProject(matrix, `failover ${kind} ${version}`, { [kind]: version });
    const name = await titleOf(project, [kind]);
    const row = [name];
    for (const topology of ['cluster', 'sentinel'] as const) {
      const reason = not?.[topology];
      if (reason !== undefined) {
        row.push(reason);
        continue;
      }
      const { faults, verdicts, tokens, claims, holds, ...most } = await failover(
        project,
        kind,
        topology,
      );
      // A run without traffic would prove nothing.
      const isBusy = verdicts > 1000 && tokens > 300 && claims > 50 && holds > 150;
      const figures = `${verdicts} verdicts, ${tokens} tokens, ${claims} claims, ${holds} holders; the store was out for ${most.longestOut} ms at most, a call took ${most.slowest} ms at most`;
      const outcome = {
        ok: faults.length === 0 && isBusy,
        output: [figures, ...faults].join('\n'),
      };
      row.push(`${matrix.cell(`failover of a ${topology}, ${name}`, [outcome])}: ${figures}`);
    }
    rows.push(row);
  }
  const head = ['with', 'Cluster', 'Sentinel'];
  return { title: 'A master is killed, another one frozen, under traffic', head, rows };
}

const TOPOLOGIES = { cluster: startCluster, sentinel: startSentinels };

/** Three processes of an app under traffic, while a master is killed and another one is frozen. */
async function failover(project: string, kind: string, topology: keyof typeof TOPOLOGIES) {
  const sandbox = createSandbox();
  const { baseUrl, apiKey, close } = await sandbox.listen();
  const known = sandbox.codes.filter(({ item_id }) => item_id === 1042).map(({ code }) => code);
  const [codes, refunded] = [[known[0], known[3]], known.slice(1, 3)];
  const servers = await TOPOLOGIES[topology]();
  const env = {
    ...process.env,
    ...{ KIND: kind, TOPOLOGY: topology, PORTS: JSON.stringify(servers.ports) },
    SERVICE: JSON.stringify({ baseUrl, apiKey, codes, refunded }),
  };
  const faults: string[] = [];
  let isOver = false;
  const children = Array.from({ length: PROCESSES }, (_, i) => {
    const child = fork(join(project, 'programs/failover.cjs'), {
      // Without the loader of TypeScript, which would take the package from `src`.
      execArgv: [],
      env: { ...env, INDEX: `${i}` },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    child.once('exit', (code, signal) => {
      if (!isOver) faults.push(`a process ended: ${code ?? signal}`);
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
    const { faults: found, ...figures } = summaryOf(all, servers.stale);
    return { ...figures, faults: [...faults, ...found] };
  } finally {
    isOver = true;
    for (const child of children) child.kill('SIGKILL');
    await servers.stop();
    await close();
  }
}

/** Milliseconds that an acknowledgement can take to arrive. */
const ARRIVAL = 500;

/** @param stale from when until when a frozen master went on that had been replaced: Redis drops what it acknowledged. */
function summaryOf(all: readonly Seen[], stale: Topology['stale']) {
  const sum = (read: (seen: Seen) => number) => all.reduce((total, seen) => total + read(seen), 0);
  const most = (read: (seen: Seen) => number) => Math.round(Math.max(...all.map(read)));
  const counts = (at: number) => !stale.some(([from, to]) => at >= from && at <= to + ARRIVAL);
  const claims = new Map<string, number>();
  for (const [name, at] of all.flatMap((seen) => seen.claims)) {
    if (counts(at)) claims.set(name, (claims.get(name) ?? 0) + 1);
  }
  return {
    faults: [
      ...all.flatMap(({ wrong, crowded }) => [...wrong, ...crowded]),
      ...all.flatMap(({ lost }) => lost.filter(counts)).map((at) => `lost what was taken at ${at}`),
      ...[...claims].filter(([, times]) => times > 1).map(([name]) => `${name} was granted twice`),
    ],
    claims: claims.size,
    verdicts: sum((seen) => seen.verdicts),
    tokens: sum((seen) => seen.tokens),
    holds: sum((seen) => seen.holds),
    longestOut: most((seen) => seen.longestOut),
    slowest: most((seen) => seen.slowest),
  };
}
