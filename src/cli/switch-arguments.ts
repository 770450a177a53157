import { UsageError } from './settings.js';

/** One switch as it was typed: `nulls`, `localised=de`, `faults.rateLimit=5`. */
export interface SwitchArgument {
  /** The board, where it was named. */
  readonly board: string | undefined;
  readonly name: string;
  readonly value: unknown;
}

/** `on` and `off` are words; the rest is JSON where it can be, else text. */
function parseValue(text: string): unknown {
  if (text === 'on') return true;
  if (text === 'off') return false;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Several switches may stand in one argument, with commas between: those inside JSON are no such commas. */
const BETWEEN = /,(?=[A-Za-z][\w.]*(?:[=,]|$))/;

/** Reads `name`, `name=value` and `board.name=value`. A name alone turns it on. */
export function readSwitches(given: readonly string[]): SwitchArgument[] {
  return given
    .flatMap((text) => text.split(BETWEEN))
    .map((text) => {
      const [key = '', ...rest] = text.split('=');
      const [first = '', second] = key.split('.', 2);
      const value = rest.length === 0 ? true : parseValue(rest.join('='));
      return second === undefined
        ? { board: undefined, name: first, value }
        : { board: first, name: second, value };
    });
}

/** What a sandbox says of its switches: by board, by name. */
export type KnownSwitches = Readonly<Record<string, Readonly<Record<string, object>>>>;

/** Finds the board of a switch. A name that both boards have must be typed with its board. */
export function boardOf({ board, name }: SwitchArgument, known: KnownSwitches): string {
  if (board !== undefined) return board;
  const boards = Object.keys(known).filter((each) => Object.hasOwn(known[each] ?? {}, name));
  if (boards.length > 1) {
    const names = boards.map((each) => `${each}.${name}`).join(' or ');
    throw new UsageError(`${name}: there are two of this name; say ${names}`);
  }
  const [only] = boards;
  if (only === undefined) {
    throw new UsageError(
      `${name}: there is no such switch; "marketgate sandbox switches" lists all`,
    );
  }
  return only;
}
