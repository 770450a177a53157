import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { SandboxContext } from './context.js';
import type { SandboxSeed } from './data/schema.js';
import { buildSeed } from './data/seed.js';
import { changeSwitches, describeSwitches } from './switches.js';

/** What {@link Sandbox.snapshot} gives: plain JSON, with the secrets of the sandbox in it. */
export interface SandboxSnapshot {
  /** Users, workspaces with their keys, apps, items and purchases. */
  readonly seed: SandboxSeed;
  /** The values of all switches, by names such as `faults.latency`; `null` is "not set". */
  readonly switches: Readonly<Record<string, unknown>>;
}

/** The data and the switches as they are now. */
export function snapshotOf(context: SandboxContext): SandboxSnapshot {
  const states = Object.entries(describeSwitches(context));
  const switches = Object.fromEntries(states.map(([name, { value }]) => [name, value]));
  return structuredClone({ seed: context.seed, switches });
}

/**
 * Puts data and switches back. A part of the data that the snapshot lacks is the default one; a switch that it
 * lacks stays as it is.
 *
 * @throws TypeError that names what is wrong; nothing is changed then.
 */
export function restoreSnapshot(context: SandboxContext, snapshot: SandboxSnapshot): void {
  if (typeof snapshot !== 'object' || snapshot === null || !('seed' in snapshot)) {
    throw new TypeError('snapshot: expected an object of seed and switches');
  }
  const seed = buildSeed(snapshot.seed, context.clock.now());
  changeSwitches(context, snapshot.switches);
  Object.assign(context.seed, seed);
  context.changed();
}

/**
 * Reads a state file, if it exists, and writes it now and at every change: at once and as a whole, so that
 * nothing is lost however the process ends. Only its owner can read it, because it holds keys.
 *
 * @throws TypeError when the file cannot be read or written.
 */
export function keepState(context: SandboxContext, file: string): void {
  if (existsSync(file)) {
    try {
      restoreSnapshot(context, JSON.parse(readFileSync(file, 'utf8')));
    } catch (error) {
      const { name, message } = error as Error;
      // The message of a parser quotes what it read, which can be a secret.
      const problem = name === 'TypeError' ? `: ${message}` : ` cannot be read as JSON (${name})`;
      throw new TypeError(`state: ${file}${problem}`);
    }
  }
  context.state.save = () => {
    const fresh = `${file}.new`;
    const text = `${JSON.stringify(snapshotOf(context), null, 2)}\n`;
    writeFileSync(fresh, text, { mode: 0o600 });
    try {
      renameSync(fresh, file);
    } catch {
      // Windows does not replace a file that another program has open, but lets others write to it.
      writeFileSync(file, text, { mode: 0o600 });
      rmSync(fresh);
    }
  };
  try {
    context.state.save();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new TypeError(`state: ${file} cannot be written (${code})`);
  }
}
