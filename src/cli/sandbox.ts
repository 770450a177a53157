import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { createSandbox, Sandbox } from '../sandbox/index.js';
import { UsageError, VARIABLES } from './settings.js';
import { readSwitches } from './switch-arguments.js';
import { colorsOf, type Terminal, table } from './terminal.js';

/** Flags of `marketgate sandbox`. */
export interface SandboxFlags {
  readonly port: string;
  readonly host: string;
  readonly redirectUrl?: string | undefined;
  readonly openRedirectUrl?: string | undefined;
  readonly open?: boolean | undefined;
  readonly seed?: string | undefined;
  readonly dialect?: readonly string[] | undefined;
  readonly fault?: readonly string[] | undefined;
  readonly consoleHost?: readonly string[] | undefined;
}

/** What starting a sandbox needs from outside. */
export interface SandboxTools {
  readonly create: typeof createSandbox;
  readonly terminal: Terminal;
  readonly openInBrowser: (url: string) => void;
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * `marketgate sandbox`: starts one and prints what to paste into `.env`, and codes to try. Gives the
 * running sandbox; the caller ends it.
 */
export async function startSandbox(flags: SandboxFlags, tools: SandboxTools): Promise<Sandbox> {
  const { create, terminal, openInBrowser } = tools;
  const port = Number(flags.port);
  if (flags.port.trim() === '' || !Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new UsageError('--port must be a whole number from 0 to 65535');
  }
  const redirectUrl = flags.openRedirectUrl ?? flags.redirectUrl;
  const sandbox = usable(() => {
    const made = create({
      ...(flags.seed !== undefined && { seed: readSeed(flags.seed) }),
      ...(redirectUrl !== undefined && { redirectUrl }),
      ...(flags.consoleHost !== undefined && { consoleHosts: flags.consoleHost }),
    });
    applySwitches(made, 'dialect', flags.dialect);
    applySwitches(made, 'faults', flags.fault);
    return made;
  });
  const listening = await sandbox.listen(port, flags.host).catch((error: unknown) => {
    throw listenFailure(error, port, flags.host);
  });
  const page = `${listening.baseUrl}/sandbox/console`;
  printStart(sandbox, listening, page, terminal);
  for (const warning of warningsOf(flags.host, tools.environment)) terminal.err(warning);
  if (flags.open) openInBrowser(page);
  if (flags.openRedirectUrl !== undefined) openInBrowser(new URL(flags.openRedirectUrl).origin);
  return sandbox;
}

/** A sandbox lets anybody in: said where others than its developer could reach it. */
function warningsOf(host: string, { NODE_ENV }: NodeJS.ProcessEnv): string[] {
  const warnings: string[] = [];
  if (!isLoopback(host)) {
    warnings.push(
      `Warning: the sandbox listens on ${host}. Whoever reaches this machine can log in there as anybody, read its keys and change its data; 127.0.0.1 is for you alone.`,
    );
  }
  if (NODE_ENV === 'production') {
    warnings.push(
      'Warning: NODE_ENV is production. The sandbox is for development and tests: its codes and keys are public, and it lets anybody in.',
    );
  }
  return warnings;
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

function printStart(
  sandbox: Sandbox,
  { baseUrl, authUrl, apiKey, appId, appSecret }: Awaited<ReturnType<Sandbox['listen']>>,
  page: string,
  terminal: Terminal,
): void {
  const colors = colorsOf(terminal);
  terminal.out(`${colors.bold('The sandbox runs at')} ${colors.cyan(baseUrl)}`);
  terminal.out(`${colors.bold('Its console is at')}   ${colors.cyan(page)}\n`);
  terminal.out(colors.dim('# for your .env'));
  const values = { baseUrl, apiKey, authUrl, appId, appSecret };
  for (const [name, value] of Object.entries(values)) {
    terminal.out(`${VARIABLES[name as keyof typeof values]}=${value}`);
  }
  const { redirectUrl } = sandbox;
  terminal.out(
    colors.dim(
      redirectUrl === undefined
        ? '\nLogins lead back to /callback of the page they came from; --redirect-url sets another address.'
        : `\nLogins lead back to ${redirectUrl}`,
    ),
  );
  terminal.out(`\n${colors.bold('Codes to try')}`);
  terminal.out(
    table(
      sandbox.codes.map(({ code, kind, item_id, description }) => [
        code,
        kind,
        String(item_id),
        description,
      ]),
    ),
  );
  const url = baseUrl === 'http://127.0.0.1:4000' ? '' : ` --url ${baseUrl}`;
  terminal.out(
    colors.dim(
      `\nWhile it runs: marketgate sandbox set errorRate=1 localised=de${url}\nCtrl+C ends it.`,
    ),
  );
}

function applySwitches(
  sandbox: Sandbox,
  flag: 'dialect' | 'faults',
  given: readonly string[] | undefined,
): void {
  const { dialect, faults } = sandbox;
  for (const { board = flag, name, value } of readSwitches(given ?? [])) {
    if (board !== flag) throw new UsageError(`${board}.${name}: not a switch of ${flag}`);
    Object.assign(flag === 'dialect' ? dialect : faults, { [name]: value });
  }
}

/** A port that is taken, or an address that is not this machine's, is a mistake of usage. */
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

/** A seed, a dialect or a fault that the sandbox does not understand is a mistake of usage. */
function usable<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof TypeError ? new UsageError(error.message) : error;
  }
}

function readSeed(path: string): object {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new UsageError(`--seed: ${path} cannot be read as JSON (${(error as Error).name})`);
  }
}
