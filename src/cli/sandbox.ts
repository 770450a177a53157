import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync } from 'node:fs';
import { parseEnv, styleText } from 'node:util';
import { isLoopback } from '../http/settings.js';
import { codesSaid } from '../sandbox/actions.js';
import type { Sandbox, SandboxRequest } from '../sandbox/index.js';
import { changeSwitches, readSwitches } from '../sandbox/switches.js';
import {
  CommandError,
  type Commands,
  type Io,
  markProblem,
  printable,
  type RunOptions,
  readFile,
  table,
} from './io.js';
import { urlFlag } from './running-sandbox.js';
import { VARIABLES } from './settings.js';

type Flags = Partial<
  Record<'port' | 'host' | 'redirect-url' | 'save-env' | 'seed', string> &
    Record<'dialect' | 'fault' | 'console-host', string[]>
>;

const DEFAULT_REDIRECT = 'http://localhost:3000/callback';

const MORE = `Examples:
  marketgate sandbox --save-env .env
  marketgate sandbox --dialect nulls,localised=de --fault latency=300
  marketgate sandbox set errorRate=1 hang@/api/items/all   while it runs, in another terminal
  marketgate sandbox set faults.rateLimit=5                both groups have a switch of this name
  marketgate sandbox renew CODE                            so do all commands that are listed above

"marketgate sandbox switches" lists what --dialect and --fault take.`;

const SWITCH = 'name, name=value, or several separated by commas';

/** `marketgate sandbox`. */
export const sandboxCommands = (options: RunOptions): Commands => ({
  sandbox: {
    about: 'run the marketplace service here, for development',
    flags: {
      'port <number>': 'default: 4000; 0 is any that is free',
      'host <address>': 'default: 127.0.0.1; only loopback keeps its secrets',
      'redirect-url <url>': `your callback (default: ${DEFAULT_REDIRECT})`,
      'save-env <file>': 'add the settings, and a SESSION_SECRET, to this file',
      'seed <file>': 'the data: what "sandbox export" prints, or parts of it',
      'dialect <switch...>': `how deployments differ: ${SWITCH}`,
      'fault <switch...>': `what goes wrong: ${SWITCH}; name@/api/items/all for one endpoint alone`,
      'console-host <name...>': 'may open the console, too',
    },
    more: MORE,
    async run(values) {
      const flags = values as Flags;
      // Called first, so that Ctrl+C also works during the start.
      const stopped = options.untilStopped();
      const sandbox = await makeSandbox(flags, options);
      try {
        await startSandbox(sandbox, flags, options);
        await stopped;
      } finally {
        await sandbox.close();
      }
    },
  },
});

/** Prints a line per request. */
export const printRequest =
  (io: Io) =>
  ({ at, method, path, params, status, msg, durationMs }: SandboxRequest): void => {
    const time = new Date(at).toTimeString().slice(0, 8);
    const code = params.purchase_code?.replace('[redacted]', '').trim();
    const answer = [status || 'no answer', msg && `"${msg}"`, `${Math.round(durationMs)} ms`];
    io.out(printable([time, method, path, code, ...answer].filter(Boolean).join(' ')));
  };

/** Makes a sandbox with the data and the switches of the flags. */
async function makeSandbox(flags: Flags, { io }: RunOptions): Promise<Sandbox> {
  const { 'redirect-url': redirectUrl, 'console-host': consoleHosts } = flags;
  // Imported here, because no other command needs Express.
  const { createSandbox } = await import('../sandbox/index.js');
  const sandbox = createSandbox({
    ...{ redirectUrl, consoleHosts },
    seed: flags.seed && readFile('--seed', flags.seed, JSON.parse),
    onRequest: printRequest(io),
  });
  // The option `redirectUrl` is for the first app only. Apps that have a redirect URL keep it.
  for (const { app_id, redirect_url } of sandbox.data.apps) {
    if (!redirect_url) sandbox.data.setRedirectUrl(app_id, redirectUrl ?? DEFAULT_REDIRECT);
  }
  changeSwitches(sandbox, readSwitches(flags.dialect, 'dialect.'));
  changeSwitches(sandbox, readSwitches(flags.fault, 'faults.'));
  return sandbox;
}

/** Lets a sandbox listen. @throws CommandError that names the wrong flag. */
const listenOn = (sandbox: Sandbox, { port = '4000', host = '127.0.0.1' }: Flags) =>
  sandbox.listen(Number(port || Number.NaN), host).catch(({ code, name }) => {
    if (name === 'TypeError') {
      throw new CommandError(
        '--port must be a whole number from 0 to 65535; 0 is any that is free',
      );
    }
    const problem = code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${code})`;
    const advice = 'choose another with --port or --host; port 0 is any that is free';
    throw new CommandError(`Port ${port} of ${host} ${problem}; ${advice}`);
  });

/** Lets a sandbox listen, and prints its settings, codes, and what to do next. */
async function startSandbox(sandbox: Sandbox, flags: Flags, options: RunOptions): Promise<void> {
  const { io, self } = options;
  const { host = '127.0.0.1', 'save-env': envFile } = flags;
  const listening = await listenOn(sandbox, flags);
  const { baseUrl } = listening;
  const names = ['baseUrl', 'apiKey', 'authUrl', 'appId', 'appSecret'] as const;
  const values = names.map((name) => [VARIABLES[name], listening[name]] as const);
  io.out(`${styleText('bold', 'The sandbox runs at')} ${styleText('cyan', baseUrl)}
${styleText('bold', 'Its console is at')}   ${styleText('cyan', `${baseUrl}/sandbox/console`)}

${styleText('dim', '# for your .env')}
${values.map(([name, value]) => `${name}=${value}`).join('\n')}
${styleText('dim', `\nLogins lead back to ${sandbox.redirectUrl}`)}

${styleText('bold', 'Codes to try')}
${codesSaid(sandbox.codes).split('\n').map(printable).join('\n')}`);
  if (envFile !== undefined) saveEnv(envFile, values, io);

  const url = urlFlag(baseUrl, options);
  const { code = 'CODE' } = sandbox.codes[0] ?? {};
  const next = [
    ...(envFile === undefined
      ? [['  give your app these settings', `${self} sandbox --save-env .env`]]
      : []),
    ['  redeem a code in your app', code],
    ['  refund it', `${self} sandbox refund ${code}${url}`],
    ['  let the service fail', `${self} sandbox set errorRate=1${url}`],
    ['  take back what fails', `${self} sandbox reset${url}`],
  ];
  io.out(`
${styleText('bold', 'Next, in another terminal')}
${table(next)}
${styleText('dim', '\nRequests are printed here as they come in. Ctrl+C ends it.')}`);

  if (!isLoopback(host === '::1' ? '[::1]' : host)) {
    const danger = 'can log in there as anybody, read its keys and change its data';
    io.err(`Warning: the sandbox listens on ${host}. Anybody who reaches this machine ${danger}.`);
  }
  warnInProduction(options);
}

export function warnInProduction({ io, environment }: RunOptions): void {
  if (environment.NODE_ENV !== 'production') return;
  const danger = 'its codes and keys are public, and it lets anybody in';
  io.err(`Warning: NODE_ENV is production. The sandbox is for development: ${danger}.`);
}

/** A variable in the quotes that it needs, if any. */
function lineOf(name: string, value: string): string {
  const lines = ['', "'", '"', '`'].map((quote) => `${name}=${quote}${value}${quote}`);
  return lines.find((line) => parseEnv(line)[name] === value) ?? `${name}=${value}`;
}

/**
 * Appends the variables that the file does not set. Changes no line of it.
 * @throws CommandError where the file is no text in UTF-8, or cannot be written.
 */
function saveEnv(path: string, values: readonly (readonly [string, string])[], io: Io): void {
  const text = existsSync(path) ? readFile('--save-env', path, String) : '';
  const present = parseEnv(text);
  const wanted = [...values, ['SESSION_SECRET', randomBytes(32).toString('hex')] as const];
  const added = wanted.filter(([name]) => !present[name]);
  const end = text.includes('\r\n') ? '\r\n' : '\n';
  const gap = text === '' || text.endsWith('\n') ? '' : end;
  const lines = gap + added.map(([name, value]) => lineOf(name, value) + end).join('');
  try {
    if (added.length > 0) appendFileSync(path, lines, { mode: 0o600 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`--save-env: ${path} cannot be written (${code})`);
  }
  io.out(`\nSaved to ${path}: ${added.map(([name]) => name).join(', ') || 'nothing new'}`);
  const kept = values.filter(([name, value]) => present[name] && present[name] !== value);
  const names = kept.map(([name]) => name).join(', ');
  const advice = 'remove these lines to use the sandbox';
  if (names) io.err(`Warning: ${path} keeps other values of ${names}; ${advice}.`);
  const mark = markProblem(path);
  if (mark) io.err(`Warning: ${path} ${mark}.`);
}
