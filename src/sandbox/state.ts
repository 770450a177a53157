import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type Boards, boardsOf, changeBoards } from './boards.js';
import type { SandboxClock } from './clock.js';
import { buildSeed } from './data/build-seed.js';
import type { SandboxSeed } from './data/schema.js';
import type { SandboxDialect } from './dialect.js';
import type { SandboxFaults } from './faults.js';

/** What {@link Sandbox.snapshot} gives: plain JSON, with the secrets of the sandbox in it. */
export interface SandboxSnapshot {
  /** Users, workspaces with their keys, apps, items and purchases. */
  readonly seed: SandboxSeed;
  /** The values of all switches, by name; `null` is "not set". */
  readonly switches: {
    /** What goes wrong. */
    readonly faults: Readonly<Record<string, unknown>>;
    /** Differences from the specification. */
    readonly dialect: Readonly<Record<string, unknown>>;
  };
}

/** The parts of a sandbox that a snapshot holds, and its clock. */
interface StateContext {
  readonly clock: SandboxClock;
  readonly dialect: SandboxDialect;
  readonly faults: SandboxFaults;
  readonly seed: SandboxSeed;
}

const valuesOf = ({ settings, switches }: Boards['faults']): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys(switches).map((name) => [name, Reflect.get(settings, name) ?? null]),
  );

/** The data and the switches as they are now. */
export function snapshotOf(context: StateContext): SandboxSnapshot {
  const { faults, dialect } = boardsOf(context);
  return structuredClone({
    seed: context.seed,
    switches: { faults: valuesOf(faults), dialect: valuesOf(dialect) },
  });
}

/**
 * Puts data and switches back. A field or a switch that the snapshot lacks gets its default.
 *
 * @throws TypeError that names what is wrong; nothing is changed then.
 */
export function restoreSnapshot(context: StateContext, snapshot: SandboxSnapshot): void {
  if (typeof snapshot !== 'object' || snapshot === null || !('seed' in snapshot)) {
    throw new TypeError('snapshot: expected an object of seed and switches');
  }
  const seed = buildSeed(snapshot.seed, context.clock.now());
  changeBoards(boardsOf(context), snapshot.switches);
  Object.assign(context.seed, seed);
}

/**
 * Reads a state file, if it exists, writes it, and gives a function that writes it again. Written at once and as a whole, so
 * that nothing is lost however the process ends; only its owner can read it, because it holds keys.
 *
 * @throws TypeError when the file cannot be read or written.
 */
export function keepState(context: StateContext, file: string): () => void {
  if (existsSync(file)) {
    let snapshot: SandboxSnapshot;
    try {
      snapshot = JSON.parse(readFileSync(file, 'utf8'));
    } catch (error) {
      throw new TypeError(`state: ${file} cannot be read as JSON (${(error as Error).name})`);
    }
    restoreSnapshot(context, snapshot);
  }
  const save = () => {
    const fresh = `${file}.new`;
    writeFileSync(fresh, `${JSON.stringify(snapshotOf(context), null, 2)}\n`, { mode: 0o600 });
    renameSync(fresh, file);
  };
  try {
    save();
  } catch (error) {
    throw new TypeError(
      `state: ${file} cannot be written (${(error as NodeJS.ErrnoException).code})`,
    );
  }
  return save;
}
