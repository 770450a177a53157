import type { Command } from 'commander';
import { openInBrowser } from './open-in-browser.js';
import { type SandboxFlags, startSandbox } from './sandbox.js';
import {
  type ControlFlags,
  listSwitches,
  resetSwitches,
  setSwitches,
  showSwitches,
} from './sandbox-control.js';
import type { Terminal } from './terminal.js';

const SWITCH = 'name, name=value, or several with commas between';

const EXAMPLES = `
Examples:
  marketgate sandbox --redirect-url http://localhost:3000/callback
  marketgate sandbox --dialect nulls,localised=de --fault latency=300
  marketgate sandbox --fault 'rateLimit={"retryAfter":5,"form":"http-date"}'
  marketgate sandbox set errorRate=1 only=key-api      while it runs, in another terminal
  marketgate sandbox set faults.rateLimit=5            both boards have a switch of this name
  marketgate sandbox show
  marketgate sandbox reset`;

/** What the command needs from outside. */
export interface SandboxSurroundings {
  readonly terminal: Terminal;
  readonly environment: NodeJS.ProcessEnv;
  /** Begins to listen for the end; what it gives settles when the sandbox is to end. */
  readonly listenForStop: () => () => Promise<void>;
  /** Opens an address in the user's browser. Default: the browser of this machine. */
  readonly openInBrowser?: ((url: string) => void) | undefined;
}

/** Registers `marketgate sandbox` with its commands for one that runs. */
export function addSandboxCommand(
  program: Command,
  around: SandboxSurroundings,
  finish: (exitCode: number) => void,
): void {
  const { terminal, listenForStop } = around;
  const sandbox = program
    .command('sandbox')
    .description('run the marketplace service here, for development')
    .option('--port <number>', 'port to listen on; 0 is any that is free', '4000')
    .option(
      '--host <address>',
      'address to listen on; others than loopback give its secrets away',
      '127.0.0.1',
    )
    .option('--redirect-url <url>', "your app's callback, as in http://localhost:3000/callback")
    .option('--open-redirect-url <url>', 'the same, and opens your app in the browser')
    .option('--open', 'open the console in the browser')
    .option('--seed <file>', 'JSON file with users, workspaces, apps, items, purchases')
    .option('--dialect <switch...>', `differences of real deployments: ${SWITCH}`)
    .option('--fault <switch...>', `what goes wrong: ${SWITCH}`)
    .option('--console-host <name...>', 'names the console may be opened under, behind a proxy')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: SandboxFlags) => {
      // Loaded for this command only: nothing else needs express.
      const { createSandbox } = await import('../sandbox/index.js');
      const open = around.openInBrowser ?? openInBrowser;
      // Listened for before anything is printed: who reads the codes may press Ctrl+C at once.
      const untilStopped = listenForStop();
      const started = await startSandbox(flags, {
        create: createSandbox,
        terminal,
        openInBrowser: open,
        environment: around.environment,
      });
      await untilStopped();
      await started.close();
    });

  const control = (command: Command): Command =>
    command
      .option('--url <url>', 'where the sandbox runs (default: http://127.0.0.1:4000)')
      .option('--json', 'print all switches as JSON');

  control(sandbox.command('set').argument('<switch...>', SWITCH))
    .description('flip faults and dialect of a sandbox that runs')
    .action(async (given: string[], flags: ControlFlags) =>
      finish(await setSwitches(given, flags, terminal)),
    );
  control(sandbox.command('show'))
    .description('say which switches of a sandbox that runs are on')
    .action(async (flags: ControlFlags) => finish(await showSwitches(flags, terminal)));
  control(sandbox.command('reset').argument('[switch...]', 'names; without any, all'))
    .description('put switches of a sandbox that runs back to where they start')
    .action(async (names: string[], flags: ControlFlags) =>
      finish(await resetSwitches(names, flags, terminal)),
    );
  sandbox
    .command('switches')
    .description('list every fault and every difference of dialect, with what it takes')
    .action(async () => {
      const { describeAllSwitches } = await import('../sandbox/console/boards.js');
      listSwitches(describeAllSwitches(), false, terminal);
    });
}
