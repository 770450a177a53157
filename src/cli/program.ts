import { PACKAGE_VERSION } from '../http/transport.js';
import { nearest } from '../sandbox/nearest.js';
import { type Commands, type Flag, helpOf, runCommand } from './command.js';
import { doctor } from './doctor.js';
import { explain } from './explain.js';
import { CommandError, type RunOptions } from './io.js';
import { controlCommands } from './running-sandbox.js';
import { sandboxCommands } from './sandbox.js';
import { inVariables, readSettings, type SettingFlags, VARIABLES } from './settings.js';
import { verify } from './verify.js';

const KEY_API_FLAGS: Readonly<Record<string, Flag>> = {
  env: { value: '<path>', about: 'a file with these variables (default: ./.env where it exists)' },
  'base-url': { value: '<url>', about: `instead of ${VARIABLES.baseUrl}` },
  'allow-insecure': { about: 'permit plain http to other machines' },
  timeout: { value: '<duration>', about: 'how long one answer may take (default: 10s)' },
  json: { about: 'print JSON' },
};

const LOGIN_FLAGS: Readonly<Record<string, Flag>> = {
  'auth-url': { value: '<url>', about: `instead of ${VARIABLES.authUrl}` },
  'app-id': { value: '<id>', about: `instead of ${VARIABLES.appId}` },
};

const MORE = `Settings come from flags, from the environment, or from ./.env:
  ${Object.values(VARIABLES).join('\n  ')}
Give secrets in the environment or in .env: other users of the machine can see flags.`;

/** Says that a command does not exist. Repeats only what looks like one: a purchase code is a secret. */
function unknownCommand(name: string, commands: Commands): string {
  const shown = /^[a-z -]{1,30}$/i.test(name) ? ` "${name}"` : '';
  const [prefix = ''] = /^sandbox /.exec(name) ?? [];
  const below = Object.keys(commands).filter((each) => each.startsWith(prefix));
  const words = below.map((each) => each.slice(prefix.length));
  const found = nearest(name.slice(prefix.length).toLowerCase(), words);
  const advice = found
    ? `did you mean "${prefix}${found}"?`
    : `"marketgate ${prefix}--help" lists all`;
  return `There is no command${shown}; ${advice}`;
}

/** Runs `marketgate …`. @returns the exit code, 2 for wrong usage. */
export async function run(args: readonly string[], options: RunOptions): Promise<number> {
  const { io } = options;
  const commands: Commands = {
    ...sandboxCommands(options),
    ...controlCommands(options),
    doctor: {
      about:
        'check addresses, clock, key, items, login, app and Redis, one by one; exit code 0: all well, 1: something is wrong or unknown',
      flags: { ...KEY_API_FLAGS, ...LOGIN_FLAGS },
      run: ({ json, ...flags }) =>
        doctor(readSettings(flags as SettingFlags, options), json === true, io),
    },
    verify: {
      about: 'ask the service about a purchase code; exit code 0: valid, 1: not valid, 2: unknown',
      takes: '<code>',
      flags: KEY_API_FLAGS,
      more: '- in place of the code reads it from stdin.',
      run: ({ json, ...flags }, [code = '']) =>
        verify(code, readSettings(flags as SettingFlags, options), json === true, io),
    },
    explain: {
      about:
        'explain an error or a warning: what happened, why, and what to do; without a code, list all',
      takes: '[code]',
      flags: {},
      run: (_values, [code]) => io.out(explain(code, io.columns)),
    },
  };
  try {
    const [first = '--help', second = ''] = args;
    if (first === '--version') {
      io.out(PACKAGE_VERSION);
      return 0;
    }
    if (['--help', '-h', 'help'].includes(first)) {
      const about = 'Develop and diagnose marketplace login and purchase codes.';
      io.out(`${about}\n\n${helpOf('', commands, io.columns)}\n\n${MORE}`);
      return 0;
    }
    const name = first === 'sandbox' && /^[a-z]/i.test(second) ? `${first} ${second}` : first;
    if (!Object.hasOwn(commands, name)) throw new CommandError(unknownCommand(name, commands));
    const rest = args.slice(name.split(' ').length);
    const exitCode = await runCommand(name, commands, rest, io);
    return typeof exitCode === 'number' ? exitCode : 0;
  } catch (error) {
    if (!(error instanceof CommandError) && !(error instanceof TypeError)) throw error;
    io.err(inVariables(error.message));
    return error instanceof CommandError ? error.exitCode : 2;
  }
}
