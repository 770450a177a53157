import { checkSwitch, type Switch } from './board.js';
import { DIALECT } from './dialect.js';
import { FAULTS } from './faults.js';

/** The faults and the dialect of one sandbox. */
type Boards = Readonly<Record<'faults' | 'dialect', object>>;

const switchesOf = (board: keyof Boards, switches: Readonly<Record<string, Switch>>) =>
  Object.entries(switches).map(([key, entry]) => ({ name: `${board}.${key}`, board, key, entry }));

/** Every switch that a sandbox has, with its full name, such as `faults.latency`. */
export const SWITCHES = [...switchesOf('faults', FAULTS), ...switchesOf('dialect', DIALECT)];

/** One switch with its value, as JSON; `null` is "not set". */
export type SwitchState = Pick<Switch, 'about' | 'expected' | 'initial'> & { value: unknown };

/** The state of every switch by its full name. */
export const describeSwitches = (boards: Boards): Record<string, SwitchState> =>
  Object.fromEntries(
    SWITCHES.map(({ name, board, key, entry: { about, expected, initial = null } }) => {
      const value: unknown = Reflect.get(boards[board], key) ?? null;
      return [name, { value, initial, about, expected }];
    }),
  );

/**
 * Sets switches from `{ latency: 5, 'dialect.nulls': true }`; `null` puts one back. Everything is checked
 * before anything is set.
 *
 * @throws TypeError that names what is wrong.
 */
export function changeSwitches(boards: Boards, changes: unknown): void {
  if (typeof changes !== 'object' || changes === null || Array.isArray(changes)) {
    throw new TypeError('expected an object of switches');
  }
  const sets = Object.entries(changes).map(([given, change]) => {
    const { name, board, key, entry } = locate(given);
    const value: unknown = change ?? undefined;
    checkSwitch(name, entry, value);
    return () => Object.assign(boards[board], { [key]: value });
  });
  for (const set of sets) set();
}

/** The switch of a name; one that both boards have must be given with its board. */
function locate(given: string) {
  const [found, other] = SWITCHES.filter(({ name, key }) => given === name || given === key);
  if (!found) {
    const advice = '"marketgate sandbox switches" lists all';
    throw new TypeError(`${given}: there is no such switch; ${advice}`);
  }
  if (other) throw new TypeError(`${given}: there are two; say ${found.name} or ${other.name}`);
  return found;
}
