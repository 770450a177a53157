import { styleText } from 'node:util';
import { NetworkFailure } from '../http/failure.js';
import { ACTIONS, type Action } from '../sandbox/actions.js';
import { SANDBOX_HEADER } from '../sandbox/console/guard.js';
import { SWITCHES } from '../sandbox/switches.js';
import type { Command, Commands, Values } from './command.js';
import { noAnswer } from './connection.js';
import {
  CommandError,
  type Io,
  printable,
  printableJson,
  type RunOptions,
  readFile,
  table,
} from './io.js';
import { readSettings } from './settings.js';

export const DEFAULT_URL = 'http://127.0.0.1:4000';
export const SWITCH =
  'name, name=value, or several separated by commas; name@/api/items/all for one endpoint alone';
const TIMEOUT = 5000;

/** `marketgate sandbox NAME`, for every action of a sandbox that runs. */
export function controlCommands(options: RunOptions): Commands {
  const { io } = options;
  const flags = {
    url: {
      value: '<url>',
      about: `where the sandbox runs (default: MARKETPLACE_BASE_URL of the environment or ./.env, else ${DEFAULT_URL})`,
    },
    json: { about: 'print JSON' },
  };
  const command = (name: string, action: Action): Command => ({
    about: action.about,
    takes: takesOf(name, action),
    flags,
    ...(takesOf(name, action).includes('[field=value') && {
      more: `Fields, the first of which need no name: ${action.fields.join(', ')}`,
    }),
    async run(values, given) {
      const fields = fieldsOf(name, action, given);
      const result = await ask(urlOf(values, options), name, fields);
      if (values.json || (action.isReading && name !== 'show' && name !== 'codes'))
        return io.out(printableJson(result));
      if (['set', 'show', 'reset'].includes(name)) return printSwitches(result as object, io);
      printResult(result, io);
    },
  });
  const commands = Object.entries(ACTIONS).map(([name, action]) => [
    `sandbox ${name}`,
    command(name, action),
  ]);
  return {
    ...Object.fromEntries(commands),
    'sandbox switches': {
      about: 'list every fault and every difference of dialect, with the values it takes',
      flags: {},
      run() {
        const rows = SWITCHES.map(({ name, entry: { initial, about, expected } }) => {
          return [name, JSON.stringify(initial ?? null), `${about} (${expected})`];
        });
        io.out(table(rows));
      },
    },
  };
}

function takesOf(name: string, { fields }: Action): string {
  if (name === 'set') return '<switch...>';
  if (name === 'reset') return '[name...]';
  if (name === 'restore') return '<file>';
  const required = fields.filter((field) => !field.endsWith('?')).map((field) => `<${field}>`);
  return [...required, fields.length > required.length && '[field=value...]']
    .filter(Boolean)
    .join(' ');
}

/** The fields of an action: `name=value`, or values alone, which are for the fields in their order. */
function fieldsOf(name: string, { fields }: Action, given: readonly string[]): object {
  if (name === 'set') return readSwitches(given);
  if (name === 'reset') return given.length > 0 ? { names: Object.keys(readSwitches(given)) } : {};
  if (name === 'restore') return readFile('restore', given[0] ?? '', JSON.parse);
  const names = fields.map((field) => field.replace('?', ''));
  const found: Record<string, string> = {};
  for (const text of given) {
    const [, named = '', value = ''] = /^(\w+)=(.*)$/s.exec(text) ?? [];
    const isNamed = names.includes(named);
    const field = isNamed ? named : names.find((each) => found[each] === undefined);
    if (field === undefined) throw new CommandError(`${name}: its fields are ${fields.join(', ')}`);
    found[field] = isNamed ? value : text;
  }
  return found;
}

function urlOf({ url }: Values, options: RunOptions): string {
  const given = String(url ?? readSettings({}, options).baseUrl ?? DEFAULT_URL);
  if (URL.canParse(given) && /^https?:/.test(given)) return new URL(given).origin;
  throw new CommandError('--url must be the http address of a sandbox');
}

/** Asks a running sandbox for an action. @throws CommandError with exit code 1 where none answers. */
async function ask(origin: string, name: string, fields: object): Promise<unknown> {
  const signal = AbortSignal.timeout(TIMEOUT);
  const response = await fetch(`${origin}/sandbox/api/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fields),
    redirect: 'manual',
    signal,
  }).catch((error: unknown) =>
    signal.aborted ? noAnswer(TIMEOUT) : new NetworkFailure(error).message,
  );
  if (typeof response === 'string' || !response.headers.has(SANDBOX_HEADER)) {
    const problem = typeof response === 'string' ? response : 'something else answers';
    const advice = 'start one with "marketgate sandbox", or name its address with --url';
    throw new CommandError(`no sandbox at ${origin}: ${problem}; ${advice}`, 1);
  }
  const result: unknown = await response.json();
  if (response.ok) return result;
  throw new CommandError(printable(String(Object(result).message)));
}

function printSwitches(values: object, io: Io): void {
  const known = new Map(SWITCHES.map(({ name, entry }) => [name, entry]));
  const rows = Object.entries(values).flatMap(([name, value]) => {
    const { initial = null, about = '' } = known.get(name.replace(/@.*/s, '')) ?? {};
    const text = JSON.stringify(value ?? null);
    return text === JSON.stringify(initial) ? [] : [[name, text, about]];
  });
  io.out(rows.length > 0 ? table(rows) : styleText('dim', 'No switch is on.'));
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

/** A single value alone, so that a script can use it; records as a table. */
function printResult(result: unknown, io: Io): void {
  const rows = Array.isArray(result)
    ? result.map((each) => Object.values(each as object).map(textOf))
    : Object.entries(Object(result)).map(([name, value]) => [name, textOf(value)]);
  const [[, only = ''] = []] = rows;
  if (!Array.isArray(result) && rows.length === 1) io.out(printable(only));
  else io.out(rows.length > 0 ? table(rows) : styleText('dim', 'Done.'));
}

const NAMES = SWITCHES.flatMap(({ name, key }) => [name, key]).join('|');

/**
 * A comma before a switch; any other belongs to a value. A name that does not exist counts if it has a value, so
 * that it is refused.
 */
const BETWEEN_SWITCHES = new RegExp(
  `,(?=[A-Za-z][\\w.]*(?:@[^=,]*)?=|(?:${NAMES})(?:@[^=,]*)?(?:,|$))`,
);

/**
 * Reads `name`, `name=value` and `group.name=value`. A name alone turns the switch on.
 * @param prefix is removed from the names.
 */
export function readSwitches(given: readonly string[] = [], prefix = ''): Record<string, unknown> {
  const switches = given.flatMap((text) => text.split(BETWEEN_SWITCHES));
  return Object.fromEntries(
    switches.map((text) => {
      const [name = '', ...rest] = text.split('=');
      return [name.replace(prefix, ''), rest.length === 0 ? true : parseValue(rest.join('='))];
    }),
  );
}

/** Reads `on`, `off`, JSON, or else plain text. */
function parseValue(text: string): unknown {
  if (text === 'on' || text === 'off') return text === 'on';
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
