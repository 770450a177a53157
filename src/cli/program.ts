import { type ParseArgsConfig, parseArgs, styleText } from 'node:util';
import { PACKAGE_VERSION } from '../version.js';
import { doctor } from './doctor.js';
import { explain } from './explain.js';
import {
  type Command,
  CommandError,
  type Commands,
  type RunOptions,
  table,
  type Values,
} from './io.js';
import { nearest } from './nearest.js';
import { controlCommands } from './running-sandbox.js';
import { sandboxCommands } from './sandbox.js';
import { inVariables, readSettings, VARIABLES } from './settings.js';
import { verify } from './verify.js';

const KEY_API_FLAGS = {
  'env <path>': 'a file with these variables (default: ./.env where it exists)',
  'base-url <url>': `instead of ${VARIABLES.baseUrl}`,
  'allow-insecure': 'permit plain http to other machines',
  'timeout <duration>': 'how long one answer may take (default: 10s)',
  json: 'print JSON',
};

const MORE = `Settings come from flags, from the environment, or from ./.env:
  ${Object.values(VARIABLES).join('\n  ')}
Give secrets in the environment or in .env: other users of the machine can see flags.`;

/** `help` of all commands, and `sandbox help` of those below `sandbox`. */
const helpCommand = (above: readonly string[], options: RunOptions): Command => ({
  about: 'show what a command takes, as COMMAND --help does',
  takes: '[command...]',
  run(_values, words) {
    const commands = commandsOf(options);
    const name = [...above, ...words].join(' ');
    if (name && !Object.hasOwn(commands, name)) throw unknownCommand(name, commands);
    options.io.out(helpOf(name, commands, options.io.columns));
  },
});

const commandsOf = (options: RunOptions): Commands => ({
  demo: {
    about: 'show a shop next to a test marketplace: the way from a purchase code to a refund',
    flags: { 'port <number>': 'of the shop (default: 3000, or any that is free)' },
    // Imported here, because no other command needs it.
    run: async ({ port }) => (await import('./demo.js')).demo(port, options),
  },
  ...sandboxCommands(options),
  ...controlCommands(options),
  doctor: {
    about:
      'check addresses, clock, key, items, login, app and Redis, one by one; exit code 0: all well, 1: something is wrong or unknown',
    flags: {
      ...KEY_API_FLAGS,
      'auth-url <url>': `instead of ${VARIABLES.authUrl}`,
      'app-id <id>': `instead of ${VARIABLES.appId}`,
    },
    run: (values) => doctor(readSettings(values, options), values.json === true, options.io),
  },
  verify: {
    about: 'ask the service about a purchase code; exit code 0: valid, 1: not valid, 2: unknown',
    takes: '<code>',
    flags: KEY_API_FLAGS,
    more: '- in place of the code reads it from stdin.',
    run: (values, [code = '']) =>
      verify(code, readSettings(values, options), values.json === true, options.io),
  },
  explain: {
    about:
      'explain an error, a warning, a status or a word, as in "refund" or "402"; without any, list all',
    takes: '[what...]',
    run: (_values, what) => options.io.out(explain(what.join(' '), options)),
  },
  help: { ...helpCommand([], options), aliases: ['--help', '-h'] },
  'sandbox help': helpCommand(['sandbox'], options),
  version: {
    about: 'print the version',
    aliases: ['--version', '-v', '-V'],
    run: () => options.io.out(PACKAGE_VERSION),
  },
});

/** Says that a command does not exist. Repeats only what looks like one: a purchase code is a secret. */
function unknownCommand(name: string, commands: Commands): CommandError {
  const shown = /^[a-z -]{1,30}$/i.test(name) ? ` "${name}"` : '';
  const [prefix = ''] = /^sandbox /.exec(name) ?? [];
  const below = Object.keys(commands).filter((each) => each.startsWith(prefix));
  const words = below.map((each) => each.slice(prefix.length));
  const found = nearest(name.slice(prefix.length).toLowerCase(), words);
  const advice = found
    ? `did you mean "${prefix}${found}"?`
    : `"marketgate ${prefix}--help" lists all`;
  return new CommandError(`There is no command${shown}; ${advice}`);
}

function parse(name: string, args: readonly string[], flags: readonly string[]) {
  const options: ParseArgsConfig['options'] = { help: { type: 'boolean', short: 'h' } };
  for (const each of flags) {
    const [flag = '', value] = each.split(' ');
    options[flag] = {
      type: value ? 'string' : 'boolean',
      multiple: value?.endsWith('...>') ?? false,
    };
  }
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    // Without what was given: that can be a secret.
    const [said = ''] = (error as Error).message.split(/\. |\n/);
    const [, lacking] = /--([\w-]+).*argument (?:is ambiguous|missing)/.exec(said) ?? [];
    const flag = flags.find((each) => each.split(' ')[0] === lacking);
    const message = flag ? `--${flag} needs a value` : said;
    const [, unknown = ''] = /^Unknown option '--([\w-]+)'/.exec(message) ?? [];
    const found = nearest(unknown, Object.keys(options));
    const isNegative = /^Unknown option '-\d/.test(message);
    const meant = isNegative ? 'write a value with its name, as in advance=-1d' : undefined;
    const advice = found ? `did you mean --${found}?` : `see "marketgate ${name} --help"`;
    throw new CommandError(`${name}: ${message}; ${meant ?? advice}`);
  }
}

/** The help of a command, with its flags and the commands below it; that of `marketgate` itself for no name. */
function helpOf(name: string, commands: Commands, columns?: number): string {
  const {
    about,
    takes = '',
    flags = {},
    more,
  }: Partial<Command> = commands[name] ?? {
    ...{ about: 'Develop and diagnose marketplace login and purchase codes.', takes: 'COMMAND' },
    more: MORE,
  };
  const depth = name === '' ? 1 : 2;
  const below = Object.entries(commands).filter(
    ([each]) => each.split(' ').length === depth && each.startsWith(name),
  );
  const list = (title: string, rows: string[][]) =>
    rows.length > 0 && `${styleText('bold', title)}\n${table(rows, columns)}`;
  const usage = ['marketgate', name, takes, Object.keys(flags).length > 0 && '[flags]'];
  const head = [`${styleText('bold', 'Usage')}  ${usage.filter(Boolean).join(' ')}`, about];
  return [
    ...(name === '' ? head.reverse() : head),
    list(
      'Flags',
      Object.entries(flags).map(([flag, text]) => [`  --${flag}`, text]),
    ),
    list(
      'Commands',
      below.map(([each, command]) => [`  ${each} ${command.takes ?? ''}`, command.about]),
    ),
    more,
  ]
    .filter(Boolean)
    .join('\n\n');
}

/** Reads the arguments of a command and runs it. `--help` gives the help in its place. */
async function runCommand(
  name: string,
  commands: Commands,
  args: readonly string[],
  { io }: RunOptions,
) {
  const { takes = '', flags = {}, run } = commands[name] as Command;
  const { values, positionals } = parse(name, args, Object.keys(flags));
  if ('help' in values) return io.out(helpOf(name, commands, io.columns));
  const least = takes.match(/<[^>]+>/g)?.length ?? 0;
  const most = takes.includes('...')
    ? Number.POSITIVE_INFINITY
    : takes.split(' ').filter(Boolean).length;
  if (positionals.length < least) throw new CommandError(`${name}: ${takes} is missing`);
  if (positionals.length > most) throw new CommandError(`${name}: too many arguments`);
  return run(values as Values, positionals);
}

/** Runs `marketgate …`. @returns the exit code, 2 for wrong usage. */
export async function run(args: readonly string[], options: RunOptions): Promise<number> {
  const { io } = options;
  const commands = commandsOf(options);
  try {
    const [first = 'help', second = ''] = args;
    const aliased = Object.keys(commands).find((each) => commands[each]?.aliases?.includes(first));
    const isBelow = first === 'sandbox' && /^[a-z]/i.test(second);
    const name = aliased ?? (isBelow ? `${first} ${second}` : first);
    if (!Object.hasOwn(commands, name)) throw unknownCommand(name, commands);
    const rest = args.slice(name.split(' ').length);
    const exitCode = await runCommand(name, commands, rest, options);
    return typeof exitCode === 'number' ? exitCode : 0;
  } catch (error) {
    if (!(error instanceof CommandError) && !(error instanceof TypeError)) throw error;
    io.err(inVariables(error.message));
    return error instanceof CommandError ? error.exitCode : 2;
  }
}
