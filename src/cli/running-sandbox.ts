import { styleText } from 'node:util';
import { NetworkFailure } from '../http/failure.js';
import { ACTIONS, type Action } from '../sandbox/actions.js';
import { SANDBOX_HEADER } from '../sandbox/console/guard.js';
import { SWITCHES } from '../sandbox/switches.js';
import type { Command, Commands, Values } from './command.js';
import { CommandError, printable, printableJson, type RunOptions, table } from './io.js';
import { readSettings } from './settings.js';

export const DEFAULT_URL = 'http://127.0.0.1:4000';
/** Where `marketgate` is installed in an app, as the README does it, only npx finds it. */
export const SELF = 'npx marketgate';
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
  const commandOf = (name: string, action: Action): Command => ({
    about: action.about,
    takes: takesOf(name, action),
    flags,
    more:
      action.fields.length > 0 && !Object.hasOwn(OWN_ARGUMENTS, name)
        ? `Fields, in this order or by name: ${action.fields.join(', ')}`
        : '',
    async run(values, given) {
      const result = await ask(urlOf(values, options), name, fieldsOf(name, action, given));
      io.out(values.json ? printableJson(result) : textOf(name, action, result));
    },
  });
  const commands = Object.entries(ACTIONS).map(([name, action]) => [
    `sandbox ${name}`,
    commandOf(name, action),
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

/** The actions that take something else than their fields. */
const OWN_ARGUMENTS: Readonly<Record<string, string>> = {
  set: '<switch...>',
  reset: '[name...]',
};

function takesOf(name: string, { fields }: Action): string {
  const own = OWN_ARGUMENTS[name];
  if (own !== undefined) return own;
  const required = fields.filter((field) => !field.endsWith('?')).map((field) => `<${field}>`);
  return [...required, fields.length > required.length && '[field=value...]']
    .filter(Boolean)
    .join(' ');
}

/** The fields of an action: given by name, or by their order. */
function fieldsOf(name: string, { fields }: Action, given: readonly string[]): object {
  if (name === 'set') return readSwitches(given);
  if (name === 'reset') return given.length > 0 ? { names: given } : {};
  const names = fields.map((field) => field.replace('?', ''));
  const found: Record<string, string> = {};
  for (const text of given) {
    const [, named = '', value = ''] = /^(\w+)=(.*)$/s.exec(text) ?? [];
    const field = named || names.find((each) => found[each] === undefined);
    if (field === undefined || !names.includes(field)) {
      const problem = named && `there is no field "${named}"; `;
      throw new CommandError(`${name}: ${problem}its fields are ${fields.join(', ')}`);
    }
    found[field] = named ? value : text;
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
  const noSandbox = (problem: string) => {
    const advice = `start one with "${SELF} sandbox", or name its address with --url`;
    return new CommandError(`no sandbox at ${origin}: ${problem}; ${advice}`, 1);
  };
  const response = await fetch(`${origin}/sandbox/api/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fields),
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT),
  }).catch((error: Error) => {
    throw noSandbox(problemOf(error));
  });
  if (!response.headers.has(SANDBOX_HEADER)) throw noSandbox('something else answers');
  const result: unknown = await response.json();
  if (response.ok) return result;
  throw new CommandError(printable(String(Object(result).message)));
}

/** Why a request of `fetch` failed. */
export const problemOf = (error: Error): string =>
  error.name === 'TimeoutError' ? 'no answer in time' : new NetworkFailure(error).message;

/** Switches that are on, a single value alone, so that a script can use it, or records as a table. */
function textOf(name: string, { isReading }: Action, result: unknown): string {
  const cellOf = (value: unknown) =>
    typeof value === 'string' ? value : JSON.stringify(value ?? null);
  if (['set', 'show', 'reset'].includes(name)) {
    const known = new Map(SWITCHES.map((each) => [each.name, each.entry]));
    const rows = Object.entries(Object(result)).flatMap(([switched, value]) => {
      const { initial = null, about = '' } = known.get(switched.replace(/@.*/s, '')) ?? {};
      return value === initial ? [] : [[switched, cellOf(value), about]];
    });
    return rows.length > 0 ? table(rows) : styleText('dim', 'No switch is on.');
  }
  if (Array.isArray(result) && name === 'codes')
    return table(result.map((each) => Object.values(Object(each)).map(cellOf)));
  if (isReading) return printableJson(result);
  const rows = Object.entries(Object(result)).map(([field, value]) => [field, cellOf(value)]);
  const [[, only = ''] = []] = rows;
  if (rows.length === 1) return printable(only);
  return rows.length > 0 ? table(rows) : styleText('dim', 'Done.');
}

/**
 * Reads `name`, `name=value` and `group.name=value`. A name alone turns the switch on; a comma before a letter
 * separates two.
 * @param prefix is put ahead of the names that lack it.
 */
export function readSwitches(given: readonly string[] = [], prefix = ''): Record<string, unknown> {
  const switches = given.flatMap((text) => text.split(/,(?=[a-z])/i));
  return Object.fromEntries(
    switches.map((text) => {
      const [name = '', ...rest] = text.split('=');
      return [
        name.startsWith(prefix) ? name : prefix + name,
        rest.length === 0 ? true : parseValue(rest.join('=')),
      ];
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
