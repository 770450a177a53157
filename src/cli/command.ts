import { type ParseArgsConfig, parseArgs, styleText } from 'node:util';
import { nearest } from '../sandbox/nearest.js';
import { CommandError, type Io, table } from './io.js';

/** A flag of a command. */
export interface Flag {
  /** What its value is, as help says it; without one, the flag takes none. */
  readonly value?: string;
  readonly about: string;
  /** Whether it can be given several times. */
  readonly isList?: boolean;
}

/** The flags that were given, by their names in camel case. */
export type Values = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** A command of `marketgate`. */
export interface Command {
  readonly about: string;
  /** As help says them: `<name>` is required, `[name]` is not, and `...` is several. */
  readonly takes?: string;
  readonly flags: Readonly<Record<string, Flag>>;
  /** Printed at the end of its help. */
  readonly more?: string;
  /** What it resolves to is the exit code, if it is a number; otherwise that is 0. */
  readonly run: (values: Values, given: readonly string[]) => unknown;
}

/** All commands, by their names: one word, or two for what another has. */
export type Commands = Readonly<Record<string, Command>>;

const camelCase = (name: string): string =>
  name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());

/**
 * Reads the arguments of a command and runs it. `--help` gives the help in its place.
 * @throws CommandError that says what is wrong with the arguments.
 */
export async function runCommand(
  name: string,
  commands: Commands,
  args: readonly string[],
  io: Io,
): Promise<unknown> {
  const command = commands[name] as Command;
  const options: ParseArgsConfig['options'] = { help: { type: 'boolean', short: 'h' } };
  for (const [flag, { value, isList = false }] of Object.entries(command.flags)) {
    options[flag] = { type: value === undefined ? 'boolean' : 'string', multiple: isList };
  }
  const { values, positionals } = parse(name, args, options);
  if ('help' in values) return io.out(helpOf(name, commands, io.columns));
  const { takes = '' } = command;
  const least = takes.match(/<[^>]+>/g)?.length ?? 0;
  const most = takes.includes('...')
    ? Number.POSITIVE_INFINITY
    : takes.split(' ').filter(Boolean).length;
  if (positionals.length < least) throw new CommandError(`${name}: ${takes} is missing`);
  if (positionals.length > most) throw new CommandError(`${name}: too many arguments`);
  const given = Object.entries(values).map(([flag, value]) => [camelCase(flag), value]);
  return command.run(Object.fromEntries(given), positionals);
}

function parse(name: string, args: readonly string[], options: ParseArgsConfig['options']) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    // Without what was given: that can be a secret.
    const [message = ''] = (error as Error).message.split(/\. |\n/);
    const [, unknown] = /^Unknown option '--([\w-]+)'/.exec(message) ?? [];
    const found = unknown && nearest(unknown, Object.keys(options ?? {}));
    // A negative duration.
    const meant = /^Unknown option '-\d/.test(message)
      ? 'write a value with its name, as in advance=-1d'
      : found && `did you mean --${found}?`;
    const advice = meant || `see "marketgate ${name} --help"`;
    throw new CommandError(`${name}: ${message}; ${advice}`);
  }
}

/** The help of a command with its flags and the commands below it; that of `marketgate` itself for no name. */
export function helpOf(name: string, commands: Commands, columns?: number): string {
  const depth = name === '' ? 1 : 2;
  const below = Object.entries(commands).filter(([each]) => {
    const words = each.split(' ');
    return words.length === depth && (depth === 1 || words[0] === name);
  });
  const { about, takes = '', flags = {}, more = '' }: Partial<Command> = commands[name] ?? {};
  const rows = Object.entries(flags).map(([flag, { value = '', about: text }]) => [
    `  --${flag} ${value}`,
    text,
  ]);
  const usage = ['marketgate', name, takes, rows.length > 0 && '[flags]'].filter(Boolean).join(' ');
  const list = (title: string, entries: string[][]) =>
    entries.length > 0 && `${styleText('bold', title)}\n${table(entries, columns)}`;
  return [
    `${styleText('bold', 'Usage')}  ${usage}${name === '' ? ' COMMAND' : ''}`,
    about,
    list('Flags', rows),
    list(
      'Commands',
      below.map(([each, command]) => [`  ${each} ${command.takes ?? ''}`, command.about]),
    ),
    more,
  ]
    .filter(Boolean)
    .join('\n\n');
}
