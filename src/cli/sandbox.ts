import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { parseEnv } from 'node:util';
import type { Command } from 'commander';
import type { BoardStates } from '../sandbox/boards.js';
import type { Sandbox } from '../sandbox/index.js';
import { describeNetworkFailure, noAnswer } from './connection.js';
import { colorsOf, type Io, printable, table, UsageError } from './io.js';
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
  marketgate sandbox set faults.rateLimit=5            both boards have a switch of this name
  marketgate sandbox show
  marketgate sandbox reset`;

interface SandboxFlags {
  readonly port: string;
  readonly host: string;
  readonly redirectUrl?: string;
  readonly saveEnv?: string;
  readonly state?: string;
  readonly seed?: string;
  readonly dialect?: readonly string[];
  readonly fault?: readonly string[];
  readonly consoleHost?: readonly string[];
}

interface ControlFlags {
  readonly url: string;
  readonly json?: boolean;
}

/** What the command uses of its process. */
interface SandboxCommandOptions {
  readonly io: Io;
  readonly environment: NodeJS.ProcessEnv;
  readonly untilStopped: () => Promise<void>;
}

/** Adds `marketgate sandbox`, and its commands for a sandbox that is running. */
export function addSandboxCommand(
  program: Command,
  options: SandboxCommandOptions,
  setExitCode: (exitCode: number) => void,
): void {
  const { io, untilStopped } = options;
  const sandbox = program
    .command('sandbox')
    .description('run the marketplace service here, for development')
    .option('--port <number>', 'port to listen on; 0 is any that is free', '4000')
    .option(
      '--host <address>',
      'address to listen on; only loopback keeps its secrets',
      '127.0.0.1',
    )
    .option('--redirect-url <url>', `your app's callback (default: ${DEFAULT_REDIRECT})`)
    .option('--save-env <file>', 'add the settings, and a SESSION_SECRET, to this file')
    .option('--seed <file>', 'JSON file with users, workspaces, apps, items, purchases')
    .option('--state <file>', 'keep purchases, keys, users and switches in this file')
    .option('--dialect <switch...>', `differences of real deployments: ${SWITCH}`)
    .option('--fault <switch...>', `what goes wrong: ${SWITCH}`)
    .option('--console-host <name...>', 'host names that may open the console, behind a proxy')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: SandboxFlags) => {
      // Called first, so that Ctrl+C also works during the start.
      const stopped = untilStopped();
      const started = await startSandbox(flags, options);
      await stopped;
      await started.close();
    });

  const control = (command: Command): Command =>
    command
      .option('--url <url>', 'where the sandbox runs', DEFAULT_URL)
      .option('--json', 'print all switches as JSON');

  control(sandbox.command('set').argument('<switch...>', SWITCH))
    .description('set faults and dialect of a running sandbox')
    .action(async (given: string[], flags: ControlFlags) => {
      const changesOf = (known: BoardStates): Changes =>
        readSwitches(given).map((each) => ({ ...each, board: boardOf(each, known) }));
      setExitCode(await changeRunning(flags, io, changesOf));
    });
  control(sandbox.command('show'))
    .description('show which switches of a running sandbox are on')
    .action(async (flags: ControlFlags) => setExitCode(await changeRunning(flags, io, () => [])));
  control(sandbox.command('reset').argument('[switch...]', 'names; without any, all'))
    .description('reset switches of a running sandbox')
    .action(async (given: string[], flags: ControlFlags) => {
      const changesOf = (known: BoardStates): Changes => {
        const all = Object.entries(known).flatMap(([board, switches]) =>
          Object.keys(switches).map((name) => ({ board, name })),
        );
        const named = readSwitches(given).map((each) => ({ ...each, board: boardOf(each, known) }));
        return (given.length > 0 ? named : all).map((each) => ({ ...each, value: null }));
      };
      setExitCode(await changeRunning(flags, io, changesOf));
    });
  sandbox
    .command('switches')
    .description('list every fault and every difference of dialect, with the values it takes')
    .action(async () => {
      const { describeAllSwitches } = await import('../sandbox/boards.js');
      io.out(switchTable(describeAllSwitches(), ({ about, expected }) => `${about} (${expected})`));
    });
}

/** Starts a sandbox and prints its settings and codes. The caller closes it. */
async function startSandbox(
  flags: SandboxFlags,
  { io, environment }: SandboxCommandOptions,
): Promise<Sandbox> {
  const port = Number(flags.port);
  if (flags.port.trim() === '' || !Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new UsageError('--port must be a whole number from 0 to 65535');
  }
  // Imported here, because no other command needs Express.
  const { createSandbox } = await import('../sandbox/index.js');
  const sandbox = createSandbox({
    ...(flags.redirectUrl !== undefined && { redirectUrl: flags.redirectUrl }),
    onRequest: ({ at, method, path, status, durationMs }) => {
      const time = new Date(at).toTimeString().slice(0, 8);
      io.out(`${time} ${method} ${path} ${status || 'no answer'} ${Math.round(durationMs)} ms`);
    },
    ...(flags.seed !== undefined && { seed: readSeed(flags.seed) }),
    ...(flags.state !== undefined && { state: flags.state }),
    ...(flags.consoleHost !== undefined && { consoleHosts: flags.consoleHost }),
  });
  // Not as an option: a redirect URL of the state or the seed comes first.
  sandbox.redirectUrl ??= DEFAULT_REDIRECT;
  setSwitches(sandbox.dialect, 'dialect', flags.dialect);
  setSwitches(sandbox.faults, 'faults', flags.fault);
  const listening = await sandbox.listen(port, flags.host).catch((error: unknown) => {
    throw listenFailure(error, port, flags.host);
  });
  const values = Object.entries(VARIABLES).flatMap(([name, variable]) => {
    const value: unknown = Object.entries(listening).find(([key]) => key === name)?.[1];
    return typeof value === 'string' ? [[variable, value] as const] : [];
  });
  printStart(sandbox, listening.baseUrl, values, io);
  if (flags.saveEnv !== undefined) saveEnv(flags.saveEnv, values, io);
  if (!isLoopback(flags.host)) {
    io.err(
      `Warning: the sandbox listens on ${flags.host}. Anybody who reaches this machine can log in there as anybody, read its keys and change its data; 127.0.0.1 is for you alone.`,
    );
  }
  if (environment.NODE_ENV === 'production') {
    io.err(
      'Warning: NODE_ENV is production. The sandbox is for development and tests: its codes and keys are public, and it lets anybody in.',
    );
  }
  return sandbox;
}

function readSeed(path: string): object {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new UsageError(`--seed: ${path} cannot be read as JSON (${(error as Error).name})`);
  }
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

function listenFailure(error: unknown, port: number, host: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new UsageError(`Port ${port} is taken; choose another with --port, or 0 for any`);
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new UsageError(`--host: ${host} is no address of this machine`);
  }
  if (code === 'EACCES') return new UsageError(`Port ${port} may not be used; choose another`);
  return error;
}

type Variables = readonly (readonly [name: string, value: string])[];

function printStart(sandbox: Sandbox, baseUrl: string, values: Variables, io: Io): void {
  const { bold, cyan, dim } = colorsOf(io);
  const url = baseUrl === DEFAULT_URL ? '' : ` --url ${baseUrl}`;
  const codes = sandbox.codes.map(({ code, kind, item_id, description }) => [
    code,
    kind,
    String(item_id),
    description,
  ]);
  io.out(`${bold('The sandbox runs at')} ${cyan(baseUrl)}
${bold('Its console is at')}   ${cyan(`${baseUrl}/sandbox/console`)}

${dim('# for your .env')}
${values.map(([name, value]) => `${name}=${value}`).join('\n')}
${dim(`\nLogins lead back to ${sandbox.redirectUrl}`)}

${bold('Codes to try')}
${table(codes)}
${dim(`\nWhile it runs: marketgate sandbox set errorRate=1 localised=de${url}\nCtrl+C ends it.`)}`);
}

/** Appends the variables that the file does not set. Changes no line of it. */
function saveEnv(path: string, values: Variables, io: Io): void {
  try {
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const present = parseEnv(text);
    const wanted = [...values, ['SESSION_SECRET', randomBytes(32).toString('hex')] as const];
    const added = wanted.filter(([name]) => !present[name]);
    const gap = text === '' || text.endsWith('\n') ? '' : '\n';
    const lines = added.map(([name, value]) => `${name}=${value}\n`).join('');
    appendFileSync(path, gap + lines, { mode: 0o600 });
    io.out(`\nSaved to ${path}: ${added.map(([name]) => name).join(', ') || 'nothing new'}`);
    const kept = values.filter(([name, value]) => present[name] && present[name] !== value);
    if (kept.length === 0) return;
    const names = kept.map(([name]) => name).join(', ');
    io.err(
      `Warning: ${path} keeps other values of ${names}; remove these lines to use the sandbox.`,
    );
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    throw new UsageError(`--save-env: ${path} cannot be written (${code ?? name})`);
  }
}

/** A switch as it was typed: `nulls`, `localised=de`, `faults.rateLimit=5`. */
interface TypedSwitch {
  readonly board: string | undefined;
  readonly name: string;
  readonly value: unknown;
}

/** Separates switches in one argument, but not the parts of a JSON value. */
const BETWEEN_SWITCHES = /,(?=[A-Za-z][\w.]*(?:[=,]|$))/;

/** Reads `name`, `name=value` and `board.name=value`. A name alone turns the switch on. */
function readSwitches(given: readonly string[]): TypedSwitch[] {
  return given
    .flatMap((text) => text.split(BETWEEN_SWITCHES))
    .map((text) => {
      const [key = '', ...rest] = text.split('=');
      const [first = '', second] = key.split('.', 2);
      const value = rest.length === 0 ? true : parseValue(rest.join('='));
      return second === undefined
        ? { board: undefined, name: first, value }
        : { board: first, name: second, value };
    });
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

function setSwitches(target: object, board: string, given: readonly string[] = []): void {
  for (const each of readSwitches(given)) {
    if ((each.board ?? board) !== board) {
      throw new UsageError(`${each.board}.${each.name}: not a switch of ${board}`);
    }
    Object.assign(target, { [each.name]: each.value });
  }
}

function boardOf({ board, name }: TypedSwitch, known: BoardStates): string {
  if (board !== undefined) return board;
  const [only, ...more] = Object.keys(known).filter((each) =>
    Object.hasOwn(known[each] ?? {}, name),
  );
  if (only === undefined) {
    throw new UsageError(
      `${name}: there is no such switch; "marketgate sandbox switches" lists all`,
    );
  }
  if (more.length === 0) return only;
  const names = [only, ...more].map((each) => `${each}.${name}`).join(' or ');
  throw new UsageError(`${name}: there are two of this name; say ${names}`);
}

type Changes = { readonly board: string; readonly name: string; readonly value: unknown }[];

/** No sandbox can be reached: exit code 1. */
class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/** Changes switches of a running sandbox, then prints those that are on. */
async function changeRunning(
  { url, json = false }: ControlFlags,
  io: Io,
  changesOf: (known: BoardStates) => Changes,
): Promise<number> {
  try {
    let states = await request(url);
    const changes: Record<string, Record<string, unknown>> = {};
    for (const { board, name, value } of changesOf(states)) {
      changes[board] = { ...changes[board], [name]: value };
    }
    if (Object.keys(changes).length > 0) states = await request(url, changes);
    if (json) {
      const values = Object.entries(states).map(([board, all]) => [
        board,
        Object.fromEntries(Object.entries(all).map(([name, { value }]) => [name, value])),
      ]);
      io.out(JSON.stringify(Object.fromEntries(values), null, 2));
    } else {
      const on = switchTable(states, ({ about }) => about, isOn);
      io.out(on || colorsOf(io).dim('No switch is on.'));
    }
    return 0;
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    io.err(error.message);
    return 1;
  }
}

type SwitchState = BoardStates[string][string];

const isOn = ({ value, initial }: SwitchState): boolean =>
  JSON.stringify(value) !== JSON.stringify(initial);

const switchTable = (
  states: BoardStates,
  describe: (state: SwitchState) => string,
  isShown: (state: SwitchState) => boolean = () => true,
): string =>
  table(
    Object.entries(states).flatMap(([board, all]) =>
      Object.entries(all)
        .filter(([, state]) => isShown(state))
        .map(([name, state]) => [`${board}.${name}`, JSON.stringify(state.value), describe(state)]),
    ),
  );

/** Requests the switches of a running sandbox, or changes some. */
async function request(url: string, changes?: object): Promise<BoardStates> {
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw new UsageError('--url must be the http address of a sandbox');
  }
  const { origin } = new URL(url);
  const signal = AbortSignal.timeout(5000);
  try {
    const response = await fetch(`${origin}/sandbox/console/switches`, {
      signal,
      redirect: 'manual',
      ...(changes && {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(changes),
      }),
    });
    const answer = (await response.json()) as { message?: unknown };
    if (response.status === 400 && typeof answer.message === 'string') {
      throw new UsageError(printable(answer.message));
    }
    if (response.status !== 200 || !('faults' in answer)) throw new SyntaxError();
    return answer as BoardStates;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (error instanceof SyntaxError) throw new Unreachable(`no sandbox answers at ${origin}`);
    const problem = signal.aborted ? noAnswer(5000) : describeNetworkFailure(error);
    throw new Unreachable(
      `no sandbox at ${origin}: ${problem}; start one with "marketgate sandbox"`,
    );
  }
}
