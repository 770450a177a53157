import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync } from 'node:fs';
import { parseEnv, styleText } from 'node:util';
import { isLoopback } from '../http/client-options.js';
import { codesSaid } from '../sandbox/actions.js';
import type { Sandbox } from '../sandbox/index.js';
import { changeSwitches, readSwitches } from '../sandbox/switches.js';
import type { Commands } from './command.js';
import { CommandError, type Io, printable, type RunOptions, readFile, table } from './io.js';
import { DEFAULT_URL, SELF } from './running-sandbox.js';
import { VARIABLES } from './settings.js';

const DEFAULT_REDIRECT = 'http://localhost:3000/callback';

const MORE = `Examples:
  marketgate sandbox --save-env .env
  marketgate sandbox --dialect nulls,localised=de --fault latency=300ms
  marketgate sandbox set errorRate=1 hang@/api/items/all   while it runs, in another terminal
  marketgate sandbox set faults.rateLimit=5s               both groups have a switch of this name
  marketgate sandbox renew CODE                            so do all commands that are listed above

"marketgate sandbox switches" lists what --dialect and --fault take.`;

const SWITCH = 'name, name=value, or several separated by commas';

type Flags = Partial<
  Record<'port' | 'host' | 'redirectUrl' | 'saveEnv' | 'seed', string> &
    Record<'dialect' | 'fault' | 'consoleHost', string[]>
>;

/** `marketgate sandbox`. */
export const sandboxCommands = (options: RunOptions): Commands => ({
  sandbox: {
    about: 'run the marketplace service here, for development',
    flags: {
      port: { value: '<number>', about: 'default: 4000; 0 is any that is free' },
      host: { value: '<address>', about: 'default: 127.0.0.1; only loopback keeps its secrets' },
      'redirect-url': { value: '<url>', about: `your callback (default: ${DEFAULT_REDIRECT})` },
      'save-env': {
        value: '<file>',
        about: 'add the settings, and a SESSION_SECRET, to this file',
      },
      seed: {
        value: '<file>',
        about: 'the data: what "sandbox export" prints, parts of it, or an answer of items/all',
      },
      dialect: { value: '<switch>', about: `how deployments differ: ${SWITCH}`, isList: true },
      fault: {
        value: '<switch>',
        about: `what goes wrong: ${SWITCH}; name@/api/items/all for one endpoint alone`,
        isList: true,
      },
      'console-host': { value: '<name>', about: 'may open the console, too', isList: true },
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

/** Makes a sandbox with the data and the switches of the flags. */
async function makeSandbox(flags: Flags, { io }: RunOptions): Promise<Sandbox> {
  const { redirectUrl, consoleHost: consoleHosts } = flags;
  // Imported here, because no other command needs Express.
  const { createSandbox } = await import('../sandbox/index.js');
  const sandbox = createSandbox({
    ...{ redirectUrl, consoleHosts },
    seed: flags.seed && readFile('--seed', flags.seed, JSON.parse),
    onRequest: ({ at, method, path, params, status, msg, durationMs }) => {
      const time = new Date(at).toTimeString().slice(0, 8);
      const code = params.purchase_code?.replace('[redacted]', '').trim();
      const answer = [status || 'no answer', msg && `"${msg}"`, `${Math.round(durationMs)} ms`];
      io.out(printable([time, method, path, code, ...answer].filter(Boolean).join(' ')));
    },
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
async function startSandbox(
  sandbox: Sandbox,
  flags: Flags,
  { io, environment }: RunOptions,
): Promise<void> {
  const { host = '127.0.0.1', saveEnv: envFile } = flags;
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

  const url = envFile !== undefined || baseUrl === DEFAULT_URL ? '' : ` --url ${baseUrl}`;
  const { code = 'CODE' } = sandbox.codes[0] ?? {};
  const next = [
    ...(envFile === undefined
      ? [['  give your app these settings', `${SELF} sandbox --save-env .env`]]
      : []),
    ['  redeem a code in your app', code],
    ['  refund it', `${SELF} sandbox refund ${code}${url}`],
    ['  let the service fail', `${SELF} sandbox set errorRate=1${url}`],
    ['  take back what fails', `${SELF} sandbox reset${url}`],
  ];
  io.out(`
${styleText('bold', 'Next, in another terminal')}
${table(next)}
${styleText('dim', '\nRequests are printed here as they come in. Ctrl+C ends it.')}`);

  if (!isLoopback(host === '::1' ? '[::1]' : host)) {
    const danger = 'can log in there as anybody, read its keys and change its data';
    io.err(`Warning: the sandbox listens on ${host}. Anybody who reaches this machine ${danger}.`);
  }
  if (environment.NODE_ENV === 'production') {
    const danger = 'its codes and keys are public, and it lets anybody in';
    io.err(`Warning: NODE_ENV is production. The sandbox is for development: ${danger}.`);
  }
}

/** A variable in the quotes that it needs, if any. */
function lineOf(name: string, value: string): string {
  const lines = ['', "'", '"', '`'].map((quote) => `${name}=${quote}${value}${quote}`);
  return lines.find((line) => parseEnv(line)[name] === value) ?? `${name}=${value}`;
}

/**
 * Appends the variables that the file does not set. Changes no line of it.
 * @throws CommandError where the file is no text in UTF-8, or its end is no place to add to.
 */
function saveEnv(path: string, values: readonly (readonly [string, string])[], io: Io): void {
  const text = existsSync(path) ? readFile('--save-env', path, String) : '';
  const present = parseEnv(text);
  const wanted = [...values, ['SESSION_SECRET', randomBytes(32).toString('hex')] as const];
  const added = wanted.filter(([name]) => !present[name]);
  const end = text.includes('\r\n') ? '\r\n' : '\n';
  const gap = text === '' || text.endsWith('\n') ? '' : end;
  const lines = gap + added.map((each) => lineOf(...each) + end).join('');
  // A quote that is open at the end would take in what follows.
  const after: Record<string, string | undefined> = parseEnv(text + lines);
  if (Object.entries({ ...present, ...Object.fromEntries(added) }).some(([n, v]) => after[n] !== v))
    throw new CommandError(`--save-env: ${path} cannot be added to: is a quote open at its end?`);
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
}
