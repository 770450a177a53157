import type { SandboxContext } from '../context.js';
import { createDialect, DIALECT_SWITCHES } from '../dialect.js';
import { createFaults } from '../faults/create-faults.js';
import { FAULT_SWITCHES } from '../faults/fault-switches.js';
import { checkSwitch, type Switch } from '../switches.js';

/** One board with what is known of its switches. */
export interface Board {
  readonly board: object;
  readonly switches: Readonly<Record<string, Switch>>;
}

export type BoardName = 'faults' | 'dialect';
export type Boards = Readonly<Record<BoardName, Board>>;

/** The two boards of a sandbox. */
export const boardsOf = ({ faults, dialect }: SandboxContext): Boards => ({
  faults: { board: faults, switches: FAULT_SWITCHES },
  dialect: { board: dialect, switches: DIALECT_SWITCHES },
});

/** Every switch where it starts, without a sandbox. */
export const describeAllSwitches = (): BoardStates =>
  describeBoards({
    faults: { board: createFaults(), switches: FAULT_SWITCHES },
    dialect: { board: createDialect(), switches: DIALECT_SWITCHES },
  });

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** One switch with where it stands, as JSON; `null` is "not set". */
export interface SwitchState {
  readonly value: unknown;
  readonly initial: unknown;
  readonly about: string;
  readonly expected: string;
}

export type BoardStates = Readonly<Record<string, Readonly<Record<string, SwitchState>>>>;

/** Every switch with where it stands. */
export const describeBoards = (boards: Boards): BoardStates =>
  Object.fromEntries(
    Object.entries(boards).map(([name, { board, switches }]) => [
      name,
      Object.fromEntries(
        Object.entries(switches).map(([key, { about, expected, initial }]) => [
          key,
          { value: Reflect.get(board, key) ?? null, initial: initial ?? null, about, expected },
        ]),
      ),
    ]),
  );

/**
 * Sets switches from `{ faults: { latency: 5 }, dialect: { nulls: true } }`; `null` puts one back. Everything
 * is checked before anything is set.
 * @throws TypeError that names what is wrong.
 */
export function changeBoards(boards: Boards, changes: unknown): void {
  if (!isRecord(changes)) throw new TypeError('expected an object with faults, dialect or both');
  const sets: (() => void)[] = [];
  for (const [name, values] of Object.entries(changes)) {
    const known = Object.hasOwn(boards, name) ? boards[name as BoardName] : undefined;
    if (!known) throw new TypeError(`${name}: expected faults or dialect`);
    if (!isRecord(values)) throw new TypeError(`${name}: expected an object of switches`);
    for (const [key, given] of Object.entries(values)) {
      const value = given ?? undefined;
      checkSwitch(name, known.switches, key, value);
      sets.push(() => Object.assign(known.board, { [key]: value }));
    }
  }
  for (const set of sets) set();
}
