import { Command, CommanderError, Option } from 'commander';
import { PACKAGE_VERSION } from '../http/transport.js';
import { doctor } from './doctor.js';
import { explain } from './explain.js';
import { CommandError, type RunOptions } from './io.js';
import { addSandboxCommand } from './sandbox.js';
import { inVariables, readSettings, type SettingFlags, VARIABLES } from './settings.js';
import { verify } from './verify.js';

type Flags = SettingFlags & { readonly json?: boolean };

/** Runs `marketgate …`. @returns the exit code, 2 for wrong usage. */
export async function run(args: readonly string[], options: RunOptions): Promise<number> {
  const { io } = options;
  let exitCode = 0;
  const program = new Command('marketgate')
    .description('Develop and diagnose marketplace login and purchase codes.')
    .version(PACKAGE_VERSION)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => io.err(text.trimEnd()),
      outputError: (text, write) => {
        const isSwitch = /option '--(?:dialect|fault) .*argument missing/.test(text);
        const hint = '; "marketgate sandbox switches" lists what it takes';
        write(isSwitch ? text.trimEnd() + hint : text);
      },
    })
    .addHelpText(
      'after',
      `\nSettings come from flags, from the environment, or from ./.env:\n  ${Object.values(VARIABLES).join('\n  ')}\nGive secrets in the environment or in .env: other users of the machine can see flags.`,
    );

  addSandboxCommand(program, options);

  const command = (name: string, about: string): Command =>
    program
      .command(name)
      .description(about)
      .option('--env <path>', 'a file with these variables (default: ./.env where it exists)')
      // Node takes this one for itself, too, and ends with its own message where it cannot read the file.
      .addOption(new Option('--env-file <path>').hideHelp())
      .option('--base-url <url>', `instead of ${VARIABLES.baseUrl}`)
      .option('--auth-url <url>', `instead of ${VARIABLES.authUrl}`)
      .option('--app-id <id>', `instead of ${VARIABLES.appId}`)
      .option('--allow-insecure', 'permit plain http to other machines')
      .option('--timeout <ms>', 'milliseconds that one answer may take (default: 10000)')
      .option('--json', 'print JSON');

  command(
    'doctor',
    'check addresses, certificate, clock, key, items, login, app and Redis, one by one; exit code 0: all well, 1: something is wrong or unknown',
  ).action(async ({ json = false, ...flags }: Flags) => {
    exitCode = await doctor(readSettings(flags, options), json, io);
  });
  command(
    'verify',
    'ask the service about a purchase code; exit code 0: valid, 1: not valid, 2: unknown',
  )
    .argument('<code>', 'a purchase code; - reads it from stdin')
    .action(async (code: string, { json = false, ...flags }: Flags) => {
      exitCode = await verify(code, readSettings(flags, options), json, io);
    });
  program
    .command('explain')
    .argument('[code]', 'the code of an error or a warning; without it, all codes are listed')
    .description('explain an error or a warning: what happened, why, and what to do')
    .action((code?: string) => io.out(explain(code, io)));

  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof CommandError) && !(error instanceof TypeError)) throw error;
    io.err(inVariables(error.message));
    return error instanceof CommandError ? error.exitCode : 2;
  }
}
