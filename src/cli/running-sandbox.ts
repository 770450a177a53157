import { Failure } from '../http/failure.js';
import { ACTIONS, type Action, API, SANDBOX_HEADER } from '../sandbox/actions.js';
import { SWITCHES, textOf } from '../sandbox/switches.js';
import {
  type Command,
  CommandError,
  type Commands,
  printable,
  printableJson,
  type RunOptions,
  table,
  type Values,
  wrap,
} from './io.js';
import { nearest } from './nearest.js';
import { readSettings } from './settings.js';

const DEFAULT_URL = 'http://127.0.0.1:4000';
const TIMEOUT = 5000;

const FLAGS = {
  'url <url>': `where the sandbox runs (default: MARKETPLACE_BASE_URL of the environment or ./.env, else ${DEFAULT_URL})`,
  json: 'print JSON',
};

/** `marketgate sandbox NAME`, for every action of a sandbox that runs. */
export function controlCommands(options: RunOptions): Commands {
  const { io } = options;
  const commandOf = (name: string, action: Action): Command => ({
    ...{ about: action.about, takes: takesOf(action), flags: FLAGS },
    more: action.list ? '' : `Fields, in this order or by name: ${action.fields.join(', ')}`,
    async run(values, given) {
      const fields = action.list?.read(given) ?? fieldsOf(name, action, given);
      const result = await ask(urlOf(values, options), name, fields, options);
      const said = action.isReading
        ? action.says?.(result as never)
        : Reflect.get(result, 'message');
      if (values.json || said === undefined) return io.out(printableJson(result));
      const text = String(said).split('\n').map(printable).join('\n');
      // What is read are lines with columns, what is done is told in a sentence.
      const lines = action.isReading ? text : wrap(text, io.columns);
      if (action.value === undefined) return io.out(lines);
      // So that a script can take it, and people read the rest.
      io.out(printable(String(Reflect.get(result, action.value))));
      io.err(lines);
    },
  });
  const commands = Object.entries(ACTIONS).map(([name, action]) => [
    `sandbox ${name}`,
    commandOf(name, action),
  ]);
  return {
    ...Object.fromEntries(commands),
    'sandbox switches': {
      about:
        'list every fault and every difference of dialect, with where it starts and what it takes',
      run() {
        const rows = SWITCHES.map(({ name, entry: { initial, about, expected } }) => {
          return [name, textOf(initial), `${about} (${expected})`];
        });
        io.out(table(rows, io.columns));
      },
    },
  };
}

function takesOf({ fields, list }: Action): string {
  if (list) return list.takes;
  const required = fields.filter((field) => !field.endsWith('?')).map((field) => `<${field}>`);
  return [...required, fields.length > required.length && '[field=value...]']
    .filter(Boolean)
    .join(' ');
}

/** The fields of an action: given by name, or by their order. */
function fieldsOf(name: string, { fields }: Action, given: readonly string[]): object {
  const names = fields.map((field) => field.replace('?', ''));
  const found: Record<string, string> = {};
  for (const text of given) {
    const [, named = '', value = ''] = /^(\w+)=(.*)$/s.exec(text) ?? [];
    const field = named || names.find((each) => found[each] === undefined);
    if (field === undefined || !names.includes(field)) {
      const meant = nearest(named, names);
      const problem = named && `there is no field "${named}"; `;
      const advice = meant ? `did you mean ${meant}?` : `its fields are ${fields.join(', ')}`;
      throw new CommandError(`${name}: ${problem}${advice}`);
    }
    found[field] = named ? value : text;
  }
  return found;
}

/** Where commands look for a sandbox by themselves. */
const ownUrl = (options: RunOptions): string => readSettings({}, options).baseUrl ?? DEFAULT_URL;

/** What a command needs besides, to reach the sandbox at this address and no other. */
export const urlFlag = (baseUrl: string, options: RunOptions): string =>
  ownUrl(options) === baseUrl ? '' : ` --url ${baseUrl}`;

function urlOf({ url }: Values, options: RunOptions): string {
  const given = String(url ?? ownUrl(options));
  if (URL.canParse(given) && /^https?:/.test(given)) return new URL(given).origin;
  throw new CommandError('--url must be the http address of a sandbox');
}

/** Asks a running sandbox for an action. @throws CommandError with exit code 1 where none answers. */
async function ask(
  origin: string,
  name: string,
  fields: object,
  { self }: RunOptions,
): Promise<object> {
  const noSandbox = (problem: string) => {
    const advice = `start one with "${self} sandbox", or name its address with --url`;
    return new CommandError(`no sandbox at ${origin}: ${problem}; ${advice}`, 1);
  };
  const response = await fetch(`${origin}${API}/${name}`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    ...{ body: JSON.stringify(fields), redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT) },
  }).catch((error: Error) => {
    throw noSandbox(problemOf(error));
  });
  if (!response.headers.has(SANDBOX_HEADER)) throw noSandbox('something else answers');
  const result = (await response.json()) as object;
  if (response.ok) return result;
  throw new CommandError(printable(String(Object(result).message)));
}

/** Why a request failed. */
export function problemOf(error: Error): string {
  if (error.name === 'TimeoutError') return 'no answer in time';
  return (error instanceof Failure ? error : Failure.of(error)).message;
}
