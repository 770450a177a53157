import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { appendFileSync, chmodSync, existsSync, readFileSync } from 'node:fs';
import { parseEnv, styleText } from 'node:util';
import type { Command } from 'commander';
import { isLoopback } from '../http/client-options.js';
import { NetworkFailure } from '../http/failure.js';
import { SANDBOX_HEADER } from '../sandbox/console/guard.js';
import type { Sandbox } from '../sandbox/index.js';
import { SWITCHES } from '../sandbox/switches.js';
import { noAnswer } from './connection.js';
import {
  CommandError,
  fileError,
  type Io,
  printable,
  printableJson,
  type RunOptions,
  readFile,
  table,
} from './io.js';
import { VARIABLES } from './settings.js';

const DEFAULT_URL = 'http://127.0.0.1:4000';
const DEFAULT_REDIRECT = 'http://localhost:3000/callback';
const SWITCH = 'name, name=value, or several separated by commas';

const EXAMPLES = `
Examples:
  marketgate sandbox --save-env .env
  marketgate sandbox --dialect nulls,localised=de --fault latency=300
  marketgate sandbox --fault 'rateLimit={"retryAfter":5,"form":"http-date"}'
  marketgate sandbox set errorRate=1 only=key-api      while it runs, in another terminal
  marketgate sandbox set faults.rateLimit=5            both groups have a switch of this name`;

type Flags = Record<'port' | 'host', string> &
  Partial<Record<'redirectUrl' | 'saveEnv' | 'state' | 'seed', string>> &
  Partial<Record<'dialect' | 'fault' | 'consoleHost', string[]>>;

type Control = { readonly url: string; readonly json?: boolean };

/** Adds `marketgate sandbox`, and its commands for a sandbox that is running. */
export function addSandboxCommand(program: Command, options: RunOptions): void {
  const { io, untilStopped } = options;
  const sandbox = program
    .command('sandbox')
    .description('run the marketplace service here, for development')
    .option('--port <number>', 'port to listen on; 0 is any that is free', '4000')
    .option('--host <address>', 'address; only loopback keeps its secrets', '127.0.0.1')
    .option('--redirect-url <url>', `your app's callback (default: ${DEFAULT_REDIRECT})`)
    .option('--save-env <file>', 'add the settings, and a SESSION_SECRET, to this file')
    .option('--seed <file>', 'JSON file with users, workspaces, apps, items, purchases')
    .option('--state <file>', 'keep purchases, keys, users and switches in this file')
    .option('--dialect <switch...>', `differences of real deployments: ${SWITCH}`)
    .option('--fault <switch...>', `what goes wrong: ${SWITCH}`)
    .option('--console-host <name...>', 'host names that may open the console, behind a proxy')
    .addHelpText('after', EXAMPLES)
    .enablePositionalOptions()
    .hook('preSubcommand', (command) => {
      const isGiven = (name: string) => command.getOptionValueSource(name) === 'cli';
      const given = command.options.find((option) => isGiven(option.attributeName()));
      if (given === undefined) return;
      throw new CommandError(`sandbox: ${given.long} is for a start; --url names one that runs`);
    })
    .action(async (flags: Flags) => {
      // Called first, so that Ctrl+C also works during the start.
      const stopped = untilStopped();
      const sandbox = await makeSandbox(flags, options);
      try {
        await startSandbox(sandbox, flags, options);
        await stopped;
      } finally {
        await sandbox.close();
      }
    });

  const control = (name: string, about: string): Command =>
    sandbox
      .command(name)
      .description(about)
      .option('--url <url>', 'where the sandbox runs', DEFAULT_URL)
      .option('--json', 'print all switches as JSON');

  control('set', 'set faults and dialect of a running sandbox')
    .argument('<switch...>', SWITCH)
    .action((given: string[], flags: Control) => changeRunning(flags, readSwitches(given), io));
  control('show', 'show which switches of a running sandbox are on').action((flags: Control) =>
    changeRunning(flags, {}, io),
  );
  control('reset', 'reset switches of a running sandbox')
    .argument('[switch...]', 'names; without any, all')
    .action((given: string[], flags: Control) => {
      const all = SWITCHES.map(({ name }) => name);
      const names = given.length > 0 ? Object.keys(readSwitches(given)) : all;
      return changeRunning(flags, Object.fromEntries(names.map((name) => [name, null])), io);
    });
  sandbox
    .command('switches')
    .description('list every fault and every difference of dialect, with the values it takes')
    .action(() => {
      const rows = SWITCHES.map(({ name, entry: { initial, about, expected } }) => {
        return [name, JSON.stringify(initial ?? null), `${about} (${expected})`];
      });
      io.out(table(rows));
    });
}

/** Makes a sandbox with the data and the switches of the flags. */
async function makeSandbox(flags: Flags, { io }: RunOptions): Promise<Sandbox> {
  const { state, redirectUrl, consoleHost: consoleHosts } = flags;
  // Imported here, because no other command needs Express.
  const { createSandbox } = await import('../sandbox/index.js');
  if (state !== undefined) {
    // A sandbox that is running on this port can be using the same state file. Fails before the file is changed.
    const trial = createSandbox();
    await listenOn(trial, flags);
    await trial.close();
  }
  const sandbox = createSandbox({
    state,
    redirectUrl,
    consoleHosts,
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
    if (redirect_url) continue;
    sandbox.data.setRedirectUrl(app_id, redirectUrl ?? DEFAULT_REDIRECT);
  }
  Object.assign(sandbox.dialect, readSwitches(flags.dialect, 'dialect.'));
  Object.assign(sandbox.faults, readSwitches(flags.fault, 'faults.'));
  return sandbox;
}

/** Lets a sandbox listen. @throws CommandError that names the wrong flag. */
const listenOn = (sandbox: Sandbox, { port, host }: Flags) =>
  sandbox.listen(Number(port || Number.NaN), host).catch(({ code }) => {
    if (['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL'].includes(code)) {
      const advice = 'name an address of this machine';
      throw new CommandError(`--host ${host} cannot be used (${code}); ${advice}`);
    }
    const problem = code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${code})`;
    const advice = 'choose another with --port, or 0 for any';
    throw new CommandError(`Port ${port} of ${host} ${problem}; ${advice}`);
  });

/** Lets a sandbox listen, and prints its settings and codes. The caller closes it, also after an error. */
async function startSandbox(
  sandbox: Sandbox,
  flags: Flags,
  { io, environment }: RunOptions,
): Promise<void> {
  const { host, saveEnv: envFile } = flags;
  const listening = await listenOn(sandbox, flags);
  const names = ['baseUrl', 'apiKey', 'authUrl', 'appId', 'appSecret'] as const;
  const values = names.map((name) => [VARIABLES[name], listening[name]] as const);
  printStart(sandbox, listening.baseUrl, values, io);
  if (envFile !== undefined) saveEnv(envFile, values, io);
  if (!isLoopback(host === '::1' ? '[::1]' : host)) {
    const danger = 'can log in there as anybody, read its keys and change its data';
    io.err(`Warning: the sandbox listens on ${host}. Anybody who reaches this machine ${danger}.`);
  }
  if (environment.NODE_ENV === 'production') {
    const danger = 'its codes and keys are public, and it lets anybody in';
    io.err(`Warning: NODE_ENV is production. The sandbox is for development: ${danger}.`);
  }
}

type Variables = readonly (readonly [name: string, value: string])[];

function printStart(sandbox: Sandbox, baseUrl: string, values: Variables, io: Io): void {
  const url = baseUrl === DEFAULT_URL ? '' : ` --url ${baseUrl}`;
  const codes = sandbox.codes.map(({ code, kind, item_id, description }) => {
    return [code, kind, String(item_id), description];
  });
  io.out(`${styleText('bold', 'The sandbox runs at')} ${styleText('cyan', baseUrl)}
${styleText('bold', 'Its console is at')}   ${styleText('cyan', `${baseUrl}/sandbox/console`)}

${styleText('dim', '# for your .env')}
${values.map(([name, value]) => `${name}=${value}`).join('\n')}
${styleText('dim', `\nLogins lead back to ${sandbox.redirectUrl}`)}

${styleText('bold', 'Codes to try')}
${table(codes)}
${styleText('dim', `\nWhile it runs: marketgate sandbox set errorRate=1 localised=de${url}\nCtrl+C ends it.`)}`);
}

/** Appends the variables that the file does not set. Changes no line of it. */
function saveEnv(path: string, values: Variables, io: Io): void {
  try {
    const isThere = existsSync(path);
    const bytes = isThere ? readFileSync(path) : Buffer.of();
    const text = bytes.toString();
    // Windows PowerShell writes UTF-16.
    if (!isUtf8(bytes) || text.includes('\0')) {
      throw new CommandError(`--save-env: ${path} is not UTF-8 text; save it as UTF-8`);
    }
    const present = parseEnv(text);
    const wanted = [...values, ['SESSION_SECRET', randomBytes(32).toString('hex')] as const];
    const added = wanted.filter(([name]) => !present[name]);
    const gap = text === '' || text.endsWith('\n') ? '' : '\n';
    const lines = added.map(([name, value]) => `${name}=${value}\n`).join('');
    // The mode of appendFileSync is only that of a new file.
    if (isThere && lines !== '') chmodSync(path, 0o600);
    appendFileSync(path, gap + lines, { mode: 0o600 });
    io.out(`\nSaved to ${path}: ${added.map(([name]) => name).join(', ') || 'nothing new'}`);
    const kept = values.filter(([name, value]) => present[name] && present[name] !== value);
    const names = kept.map(([name]) => name).join(', ');
    const advice = 'remove these lines to use the sandbox';
    if (names) io.err(`Warning: ${path} keeps other values of ${names}; ${advice}.`);
  } catch (error) {
    throw error instanceof CommandError ? error : fileError('--save-env', path, 'written', error);
  }
}

const NAMES = SWITCHES.flatMap(({ name, key }) => [name, key]).join('|');

/**
 * A comma before a switch; any other belongs to a value. A name that does not exist counts if it has a value, so
 * that it is refused.
 */
const BETWEEN_SWITCHES = new RegExp(`,(?=[A-Za-z][\\w.]*=|(?:${NAMES})(?:,|$))`);

/**
 * Reads `name`, `name=value` and `group.name=value`. A name alone turns the switch on.
 * @param prefix is removed from the names.
 */
function readSwitches(given: readonly string[] = [], prefix = ''): Record<string, unknown> {
  const switches = given.flatMap((text) => text.split(BETWEEN_SWITCHES));
  return Object.fromEntries(
    switches.map((text) => {
      const [name = '', ...rest] = text.split('=');
      return [name.replace(prefix, ''), rest.length === 0 ? true : parseValue(rest.join('='))];
    }),
  );
}

/** Reads `on`, `off`, JSON, or else plain text. */
function parseValue(text: string): unknown {
  if (text === 'on' || text === 'off') return text === 'on';
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Changes switches of a running sandbox, then prints those that are on. Exit code 1 where none answers. */
async function changeRunning({ url, json }: Control, changes: object, io: Io): Promise<void> {
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw new CommandError('--url must be the http address of a sandbox');
  }
  const { origin } = new URL(url);
  const signal = AbortSignal.timeout(5000);
  const response = await fetch(`${origin}/sandbox/console/switches`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(changes),
    redirect: 'manual',
    signal,
  }).catch((error: unknown) =>
    signal.aborted ? noAnswer(5000) : new NetworkFailure(error).message,
  );
  if (typeof response === 'string' || !response.headers.has(SANDBOX_HEADER)) {
    const problem = typeof response === 'string' ? response : 'something else answers';
    const advice = 'start one with "marketgate sandbox"';
    throw new CommandError(`no sandbox at ${origin}: ${problem}; ${advice}`, 1);
  }
  const values = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw new CommandError(printable(String(values.message)));
  if (json) return io.out(printableJson(values));
  const rows = SWITCHES.flatMap(({ name, entry: { initial = null, about } }) => {
    const value = JSON.stringify(values[name] ?? null);
    return value === JSON.stringify(initial) ? [] : [[name, value, about]];
  });
  io.out(rows.length > 0 ? table(rows) : styleText('dim', 'No switch is on.'));
}
