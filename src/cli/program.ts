import { Command, CommanderError } from 'commander';
import { VERSION } from '../http/user-agent.js';
import { doctor } from './doctor.js';
import { addExplainCommand } from './explain.js';
import { addSandboxCommand, type SandboxSurroundings } from './sandbox-command.js';
import { readSettings, type SettingFlags, UsageError, VARIABLES } from './settings.js';
import { verify } from './verify.js';

/** What a run needs from outside. */
export type Surroundings = SandboxSurroundings;

/** Runs `marketgate …`; gives its exit code: 2 for wrong usage. */
export async function run(args: readonly string[], around: Surroundings): Promise<number> {
  const { terminal, environment } = around;
  let exitCode = 0;
  const program = new Command('marketgate')
    .description('Develop and diagnose marketplace login and purchase codes.')
    .version(VERSION)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
    })
    .addHelpText(
      'after',
      `\nSettings come from flags or from the environment:\n  ${Object.values(VARIABLES).join('\n  ')}\nSecrets belong into the environment: flags are seen by other users of the machine.`,
    );

  addSandboxCommand(program, around, (code) => {
    exitCode = code;
  });

  const withSettings = (command: Command): Command =>
    command
      .option('--env-file <path>', 'a file with these variables, such as .env')
      .option('--base-url <url>', `instead of ${VARIABLES.baseUrl}`)
      .option('--auth-url <url>', `instead of ${VARIABLES.authUrl}`)
      .option('--app-id <id>', `instead of ${VARIABLES.appId}`)
      .option('--allow-insecure', 'permit plain http to other machines')
      .option('--timeout <ms>', 'milliseconds that one answer may take (default: 10000)')
      .option('--json', 'print JSON');

  withSettings(program.command('doctor'))
    .description(
      'check each thing apart: addresses, certificate, clock, key, items, login, app, redis; exit code 0 well, 1 something is wrong',
    )
    .action(async (flags: SettingFlags & { json?: boolean }) => {
      exitCode = await doctor(
        readSettings(flags, environment),
        { json: flags.json === true },
        terminal,
      );
    });

  withSettings(program.command('verify').argument('<code>', 'a purchase code'))
    .description(
      'ask the service about a purchase code: exit code 0 valid, 1 not, 2 could not find out',
    )
    .action(async (code: string, flags: SettingFlags & { json?: boolean }) => {
      exitCode = await verify(
        code,
        readSettings(flags, environment),
        { json: flags.json === true },
        terminal,
      );
    });

  addExplainCommand(program, terminal);

  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof UsageError) && !(error instanceof TypeError)) throw error;
    terminal.err(error.message);
    return 2;
  }
}
