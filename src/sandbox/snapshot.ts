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
}

/** The parts of a sandbox that a snapshot is about. */
interface Parts extends SwitchGroups {
  readonly seed: SandboxSeed;
  readonly clock: SandboxClock;
}

/** The data and the switches as they are now. */
export const snapshotOf = (parts: Parts): SandboxSnapshot =>
  structuredClone({ seed: parts.seed, switches: switchValues(parts) });

/**
 * Puts data and switches back. What the snapshot lacks is as by default.
 *
 * @throws TypeError that names what is wrong; nothing is changed then.
 */
export function restoreSnapshot(parts: Parts, snapshot: SandboxSnapshot): void {
  if (typeof snapshot !== 'object' || snapshot === null || !('seed' in snapshot)) {
    throw new TypeError('snapshot: expected an object of seed and switches');
  }
  const seed = buildSeed(snapshot.seed, parts.clock.now());
  changeSwitches(parts, { faults: null, dialect: null, ...snapshot.switches });
  Object.assign(parts.seed, seed);
}
