import { Command, CommanderError } from 'commander';
import { VERSION } from '../http/user-agent.js';
import { doctor } from './doctor.js';
import { type SandboxFlags, startSandbox } from './sandbox.js';
import { readSettings, type Settings, UsageError, VARIABLES } from './settings.js';
import type { Terminal } from './terminal.js';
import { verify } from './verify.js';

/** What a run needs from outside. */
export interface Surroundings {
  readonly terminal: Terminal;
  readonly environment: NodeJS.ProcessEnv;
  /** Settles when the sandbox is to end. */
  readonly untilStopped: () => Promise<void>;
}

const collect = (value: string, before: string[]): string[] => [...before, value];

/** Runs `marketgate …`; gives its exit code: 2 for wrong usage. */
export async function run(args: readonly string[], around: Surroundings): Promise<number> {
  const { terminal, environment, untilStopped } = around;
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

  program
    .command('sandbox')
    .description('run the marketplace service here, for development')
    .option('--port <number>', 'port to listen on; 0 is any that is free', '4000')
    .option(
      '--host <address>',
      'address to listen on; others than loopback give its secrets away',
      '127.0.0.1',
    )
    .option('--redirect-url <url>', "your app's callback, as in http://localhost:3000/callback")
    .option('--seed <file>', 'JSON file with users, workspaces, apps, items, purchases')
    .option(
      '--dialect <switch>',
      'a difference of real deployments: name or name=value; repeatable',
      collect,
      [],
    )
    .option('--fault <switch>', 'a failure: name or name=value; repeatable', collect, [])
    .action(async (flags: SandboxFlags) => {
      // Loaded for this command only: nothing else needs express.
      const { createSandbox } = await import('../sandbox/index.js');
      const sandbox = await startSandbox(createSandbox, flags, terminal);
      await untilStopped();
      await sandbox.close();
    });

  const withSettings = (command: Command): Command =>
    command
      .option('--base-url <url>', `instead of ${VARIABLES.baseUrl}`)
      .option('--auth-url <url>', `instead of ${VARIABLES.authUrl}`)
      .option('--app-id <id>', `instead of ${VARIABLES.appId}`)
      .option('--allow-insecure', 'permit plain http to other machines')
      .option('--json', 'print JSON');

  withSettings(program.command('doctor'))
    .description(
      'check each thing apart: addresses, certificate, clock, key, items, login, app, redis',
    )
    .action(async (flags: Settings & { json?: boolean }) => {
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
    .action(async (code: string, flags: Settings & { json?: boolean }) => {
      exitCode = await verify(
        code,
        readSettings(flags, environment),
        { json: flags.json === true },
        terminal,
      );
    });

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
