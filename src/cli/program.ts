import { PACKAGE_VERSION } from '../http/transport.js';
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
  timeout: { value: '<ms>', about: 'milliseconds that one answer may take (default: 10000)' },
  json: { about: 'print JSON' },
};

const LOGIN_FLAGS: Readonly<Record<string, Flag>> = {
  'auth-url': { value: '<url>', about: `instead of ${VARIABLES.authUrl}` },
  'app-id': { value: '<id>', about: `instead of ${VARIABLES.appId}` },
};

const MORE = `Settings come from flags, from the environment, or from ./.env:
  ${Object.values(VARIABLES).join('\n  ')}
Give secrets in the environment or in .env: other users of the machine can see flags.`;

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
      run: (_values, [code]) => io.out(explain(code)),
    },
  };
  try {
    const [first = '', second = ''] = args;
    const help = `Develop and diagnose marketplace login and purchase codes.\n\n${helpOf('', commands)}\n\n${MORE}`;
    const texts: Record<string, string> = {
      '--version': PACKAGE_VERSION,
      '--help': help,
      '-h': help,
    };
    if (Object.hasOwn(texts, first)) {
      io.out(texts[first] ?? '');
      return 0;
    }
    const name = first === 'sandbox' && /^[a-z]/.test(second) ? `${first} ${second}` : first;
    if (!Object.hasOwn(commands, name)) {
      const list = name === first ? help : helpOf(first, commands);
      throw new CommandError(
        `${list}\n\nThere is no command of this name; the commands are above.`,
      );
    }
    const rest = args.slice(name.split(' ').length);
    const exitCode = await runCommand(name, commands, rest, io.out);
    return typeof exitCode === 'number' ? exitCode : 0;
  } catch (error) {
    if (!(error instanceof CommandError) && !(error instanceof TypeError)) throw error;
    io.err(inVariables(error.message));
    return error instanceof CommandError ? error.exitCode : 2;
  }
}
