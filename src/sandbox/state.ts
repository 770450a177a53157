import { existsSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { SandboxClock } from './clock.js';
import type { SandboxSeed } from './data/schema.js';
import { buildSeed } from './data/seed.js';
import { Refused } from './request.js';
import { changeSwitches, SWITCHES, type SwitchGroups, switchValues } from './switches.js';

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
 * Puts data and switches back. A part of the data that the snapshot lacks is the default one; a switch that it
 * lacks stays as it is, but faults of one scope end.
 *
 * @throws TypeError that names what is wrong; nothing is changed then.
 */
export function restoreSnapshot(parts: StateParts, snapshot: SandboxSnapshot): void {
  if (typeof snapshot !== 'object' || snapshot === null || !('seed' in snapshot)) {
    throw new TypeError('snapshot: expected an object of seed and switches');
  }
  const seed = buildSeed(snapshot.seed, parts.clock.now());
  const { switches = {}, drawn } = snapshot;
  parts.change(() => {
    const names = new Set(SWITCHES.map(({ name }) => name));
    const scoped = Object.keys(switchValues(parts)).filter((name) => !names.has(name));
    const ended = Object.fromEntries(scoped.map((name) => [name, null]));
    changeSwitches(parts, { ...ended, ...switches });
    Object.assign(parts.seed, seed);
    if (Number.isSafeInteger(drawn)) parts.drawn.count = Number(drawn);
  });
}

/**
 * Reads a state file, if it exists, and writes it: now, and whenever the function that it returns is called after
 * a change. It is written at once and as a whole, so that nothing is lost however the process ends. Only its owner
 * can read it, because it holds keys. A change that cannot be written is taken back.
 *
 * @throws TypeError when the file cannot be read or written.
 */
export function keepState(parts: StateParts, path: string): () => void {
  let file = path;
  /** What this sandbox has read or written last. */
  let known = '';
  if (existsSync(path)) {
    try {
      // A link stays one.
      file = realpathSync(path);
      known = readFileSync(file, 'utf8');
      if (known.trim() !== '') restoreSnapshot(parts, JSON.parse(known));
    } catch (error) {
      const { name, message } = error as Error;
      // The message of a parser quotes what it read, which can be a secret.
      const problem = name === 'TypeError' ? `: ${message}` : ` cannot be read as JSON (${name})`;
      throw new TypeError(`state: ${path}${problem}`);
    }
  }
  const textNow = () => `${JSON.stringify(snapshotOf(parts), null, 2)}\n`;
  const write = (text: string): void => {
    if (existsSync(file) && readFileSync(file, 'utf8') !== known) {
      const advice = 'give each sandbox a file of its own';
      const problem = `was changed by another program, so nothing was changed here; ${advice}`;
      throw new Refused(500, `state: ${path} ${problem}`);
    }
    replaceFile(file, text);
    known = text;
  };
  try {
    write(textNow());
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new TypeError(`state: ${path} cannot be written (${code})`);
  }
  return () => {
    const text = textNow();
    if (text === known) return;
    try {
      write(text);
    } catch (error) {
      restoreSnapshot(parts, JSON.parse(known));
      if (error instanceof Refused) throw error;
      const problem = `cannot be written (${(error as NodeJS.ErrnoException).code})`;
      throw new Refused(500, `state: ${path} ${problem}, so nothing was changed`);
    }
  };
}

/** Writes a file that only its owner can read, as a whole. */
function replaceFile(file: string, text: string): void {
  const fresh = `${file}.new`;
  // What an ended process left there is removed, and the file is made anew: its mode is only that of a new file,
  // and a link that somebody put there meanwhile is not followed.
  rmSync(fresh, { force: true });
  writeFileSync(fresh, text, { mode: 0o600, flag: 'wx' });
  try {
    renameSync(fresh, file);
  } catch {
    // Windows does not replace a file that another program has open, but lets others write to it.
    writeFileSync(file, text, { mode: 0o600 });
    rmSync(fresh);
  }
}
