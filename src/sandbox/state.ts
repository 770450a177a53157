import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { SandboxClock } from './clock.js';
import type { SandboxSeed } from './data/schema.js';
import { buildSeed } from './data/seed.js';
import { changeSwitches, type SwitchGroups, switchValues } from './switches.js';

/** What {@link Sandbox.snapshot} gives: plain JSON, with the secrets of the sandbox in it. */
export interface SandboxSnapshot {
  /** Users, workspaces with their keys, apps, items and purchases. */
  readonly seed: SandboxSeed;
  /** The values of all switches, by names such as `faults.latency`; `null` is "not set". */
  readonly switches: Readonly<Record<string, unknown>>;
  /** How many secrets were drawn, which decides the next ones of a `deterministic` sandbox. */
  readonly drawn?: number | undefined;
}

/** The parts of a sandbox that make up its state, and what its changes need. */
interface StateParts extends SwitchGroups {
  readonly seed: SandboxSeed;
  readonly clock: SandboxClock;
  readonly change: (make: () => void) => void;
  readonly drawn: { count: number };
}

/** The data and the switches as they are now. */
export const snapshotOf = (parts: StateParts): SandboxSnapshot =>
  structuredClone({
    seed: parts.seed,
    switches: switchValues(parts),
    drawn: parts.drawn.count,
  });

/**
 * Puts data and switches back. What the snapshot lacks is as by default.
 *
 * @throws TypeError that names what is wrong; nothing is changed then.
 */
export function restoreSnapshot(parts: StateParts, snapshot: SandboxSnapshot): void {
  if (typeof snapshot !== 'object' || snapshot === null || !('seed' in snapshot)) {
    throw new TypeError('snapshot: expected an object of seed and switches');
  }
  const seed = buildSeed(snapshot.seed, parts.clock.now());
  const { switches, drawn } = snapshot;
  parts.change(() => {
    changeSwitches(parts, { faults: null, dialect: null, ...switches });
    Object.assign(parts.seed, seed);
    if (Number.isSafeInteger(drawn)) parts.drawn.count = Number(drawn);
  });
}

/**
 * Reads a state file, if it exists, and gives the function that writes it. It is written as a whole, so that nothing is
 * lost however the process ends, and for its owner only, because it holds keys.
 *
 * @throws TypeError when the file cannot be read or written.
 */
export function keepState(parts: StateParts, path: string): () => void {
  if (existsSync(path)) {
    try {
      restoreSnapshot(parts, JSON.parse(readFileSync(path, 'utf8')));
    } catch (error) {
      const { name, message } = error as Error;
      // The message of a parser quotes what it read, which can be a secret.
      const problem = name === 'TypeError' ? `: ${message}` : ` cannot be read as JSON (${name})`;
      throw new TypeError(`state: ${path}${problem}`);
    }
  }
  const write = (): void => {
    try {
      const text = `${JSON.stringify(snapshotOf(parts), null, 2)}\n`;
      writeFileSync(`${path}.new`, text, { mode: 0o600 });
      renameSync(`${path}.new`, path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new TypeError(`state: ${path} cannot be written (${code})`);
    }
  };
  write();
  return write;
}
