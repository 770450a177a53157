import type { BoardStates, SwitchState } from '../sandbox/console/boards.js';
import { inWords, noAnswer } from './probe.js';
import { UsageError } from './settings.js';
import { boardOf, readSwitches } from './switch-arguments.js';
import { colorsOf, printable, type Terminal, table } from './terminal.js';

const PATH = '/sandbox/console/switches';
const LONGEST = 5000;
const DEFAULT_URL = 'http://127.0.0.1:4000';

/** Flags of the commands that talk to a sandbox that runs already. */
export interface ControlFlags {
  readonly url?: string | undefined;
  readonly json?: boolean | undefined;
}

/** Exit codes: it is done, and the sandbox could not be asked. Wrong usage is a {@link UsageError}. */
const DONE = 0;
const UNREACHED = 1;

class Unreached extends Error {
  override readonly name = 'Unreached';
}

/** Asks a running sandbox about its switches, or changes some. */
async function talk(url: string, changes?: object): Promise<BoardStates> {
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw new UsageError('--url must be the http address of a sandbox');
  }
  const { request } = await import('undici');
  const timeUp = new AbortController();
  const timer = setTimeout(() => timeUp.abort(), LONGEST);
  const origin = new URL(url).origin;
  try {
    const { statusCode, body } = await request(origin + PATH, {
      signal: timeUp.signal,
      ...(changes && {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(changes),
      }),
    });
    const answer = JSON.parse(await body.text()) as { message?: unknown };
    if (statusCode === 400 && typeof answer.message === 'string') {
      throw new UsageError(printable(answer.message));
    }
    if (statusCode !== 200 || !('faults' in answer)) throw new SyntaxError();
    return answer as BoardStates;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (error instanceof SyntaxError) throw new Unreached(`no sandbox answers at ${origin}`);
    const words = timeUp.signal.aborted ? noAnswer(LONGEST) : inWords(error);
    throw new Unreached(`no sandbox at ${origin}: ${words}; start one with "marketgate sandbox"`);
  } finally {
    clearTimeout(timer);
  }
}

const isOn = ({ value, initial }: SwitchState): boolean =>
  JSON.stringify(value) !== JSON.stringify(initial);

/** BoardStates as a table: all of them, or those that are not where they start. */
export function listSwitches(switches: BoardStates, onlyOn: boolean, terminal: Terminal): void {
  const rows = Object.entries(switches).flatMap(([board, all]) =>
    Object.entries(all)
      .filter(([, state]) => !onlyOn || isOn(state))
      .map(([name, state]) => [
        `${board}.${name}`,
        JSON.stringify(state.value),
        onlyOn ? state.about : `${state.about} (${state.expected})`,
      ]),
  );
  const colors = colorsOf(terminal);
  terminal.out(rows.length === 0 ? colors.dim('Every switch is where it starts.') : table(rows));
}

type Changes = Record<string, Record<string, unknown>>;

/** Does what was asked for, then says which switches are on. */
async function control(
  { url = DEFAULT_URL, json = false }: ControlFlags,
  terminal: Terminal,
  changesOf: (known: BoardStates) => Changes,
): Promise<number> {
  try {
    const known = await talk(url);
    const changes = changesOf(known);
    const after = Object.keys(changes).length === 0 ? known : await talk(url, changes);
    if (json) {
      const values = Object.entries(after).map(([board, all]) => [
        board,
        Object.fromEntries(Object.entries(all).map(([name, { value }]) => [name, value])),
      ]);
      terminal.out(JSON.stringify(Object.fromEntries(values), null, 2));
    } else listSwitches(after, true, terminal);
    return DONE;
  } catch (error) {
    if (!(error instanceof Unreached)) throw error;
    terminal.err(error.message);
    return UNREACHED;
  }
}

/** `marketgate sandbox show`: which switches of a running sandbox are on. */
export const showSwitches = (flags: ControlFlags, terminal: Terminal): Promise<number> =>
  control(flags, terminal, () => ({}));

/** `marketgate sandbox set errorRate=1 localised=de`: flips switches of a running sandbox. */
export const setSwitches = (
  given: readonly string[],
  flags: ControlFlags,
  terminal: Terminal,
): Promise<number> =>
  control(flags, terminal, (known) => {
    const changes: Changes = {};
    for (const argument of readSwitches(given)) {
      const board = boardOf(argument, known);
      changes[board] = { ...changes[board], [argument.name]: argument.value };
    }
    return changes;
  });

/** `marketgate sandbox reset`: puts the named switches of a running sandbox back, or all. */
export const resetSwitches = (
  names: readonly string[],
  flags: ControlFlags,
  terminal: Terminal,
): Promise<number> =>
  control(flags, terminal, (known) => {
    const changes: Changes = {};
    const put = (board: string, name: string): void => {
      changes[board] = { ...changes[board], [name]: null };
    };
    for (const argument of readSwitches(names)) put(boardOf(argument, known), argument.name);
    if (names.length > 0) return changes;
    for (const [board, all] of Object.entries(known)) {
      for (const name of Object.keys(all)) put(board, name);
    }
    return changes;
  });
