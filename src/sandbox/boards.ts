import { createDialect, DIALECT, type SandboxDialect } from './dialect.js';
import { createFaults, FAULTS, type SandboxFaults } from './faults.js';
import { checkSwitch, type Switches } from './switches.js';

/** The current values of some switches, with what is known of them. */
export interface Board {
  readonly settings: object;
  readonly switches: Switches;
}

export type BoardName = 'faults' | 'dialect';
export type Boards = Readonly<Record<BoardName, Board>>;

export const boardsOf = (of: { faults: SandboxFaults; dialect: SandboxDialect }): Boards => ({
  faults: { settings: of.faults, switches: FAULTS },
  dialect: { settings: of.dialect, switches: DIALECT },
});

/** One switch with its value, as JSON; `null` is "not set". */
export interface SwitchState {
  readonly value: unknown;
  readonly initial: unknown;
  readonly about: string;
  readonly expected: string;
}

export type BoardStates = Readonly<Record<string, Readonly<Record<string, SwitchState>>>>;

export const describeBoards = (boards: Boards): BoardStates =>
  Object.fromEntries(
    Object.entries(boards).map(([name, { settings, switches }]) => [
      name,
      Object.fromEntries(
        Object.entries(switches).map(([key, { about, expected, initial }]) => [
          key,
          { value: Reflect.get(settings, key) ?? null, initial: initial ?? null, about, expected },
        ]),
      ),
    ]),
  );

/** Every switch with its initial value, without a sandbox. */
export const describeAllSwitches = (): BoardStates =>
  describeBoards(boardsOf({ faults: createFaults(), dialect: createDialect() }));

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Sets switches from `{ faults: { latency: 5 }, dialect: { nulls: true } }`; `null` puts one back. Everything
 * is checked before anything is set.
 * @throws TypeError that names what is wrong.
 */
export function changeBoards(boards: Boards, changes: unknown): void {
  if (!isRecord(changes)) throw new TypeError('expected an object with faults, dialect or both');
  const sets: (() => void)[] = [];
  for (const [name, values] of Object.entries(changes)) {
    const board = Object.hasOwn(boards, name) ? boards[name as BoardName] : undefined;
    if (!board) throw new TypeError(`${name}: expected faults or dialect`);
    if (!isRecord(values)) throw new TypeError(`${name}: expected an object of switches`);
    for (const [key, given] of Object.entries(values)) {
      const value = given ?? undefined;
      checkSwitch(name, board.switches, key, value);
      sets.push(() => Object.assign(board.settings, { [key]: value }));
    }
  }
  for (const set of sets) set();
}
