import { readFileSync } from 'node:fs';
import type { createSandbox, Sandbox } from '../sandbox/index.js';
import { UsageError, VARIABLES } from './settings.js';
import { colorsOf, type Terminal, table } from './terminal.js';

/** Flags of `marketgate sandbox`. */
export interface SandboxFlags {
  readonly port: string;
  readonly host: string;
  readonly redirectUrl?: string | undefined;
  readonly seed?: string | undefined;
  readonly dialect: readonly string[];
  readonly fault: readonly string[];
}

/**
 * `marketgate sandbox`: starts one and prints what to paste into `.env`, and codes to try. Gives the
 * running sandbox; the caller ends it.
 */
export async function startSandbox(
  create: typeof createSandbox,
  flags: SandboxFlags,
  terminal: Terminal,
): Promise<Sandbox> {
  const port = Number(flags.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new UsageError('--port must be a whole number from 0 to 65535');
  }
  const sandbox = usable(() =>
    create({
      ...(flags.seed !== undefined && { seed: readSeed(flags.seed) }),
      ...(flags.redirectUrl !== undefined && { redirectUrl: flags.redirectUrl }),
    }),
  );
  usable(() => {
    for (const given of flags.dialect) Object.assign(sandbox.dialect, parseSwitch(given));
    for (const given of flags.fault) Object.assign(sandbox.faults, parseSwitch(given));
  });
  const { baseUrl, authUrl, apiKey, appId, appSecret } = await sandbox.listen(port, flags.host);
  const colors = colorsOf(terminal);
  terminal.out(
    `${colors.bold('The sandbox runs at')} ${colors.cyan(baseUrl)}, its console at ${colors.cyan(`${baseUrl}/sandbox/console`)}\n`,
  );
  terminal.out(colors.dim('# for your .env'));
  const values = { baseUrl, apiKey, authUrl, appId, appSecret };
  for (const [name, value] of Object.entries(values)) {
    terminal.out(`${VARIABLES[name as keyof typeof values]}=${value}`);
  }
  if (sandbox.redirectUrl === undefined) {
    terminal.out(
      colors.dim(
        '\nLogins lead back to /callback of the page they came from; --redirect-url sets another address.',
      ),
    );
  }
  terminal.out(`\n${colors.bold('Codes to try')}`);
  terminal.out(
    table(
      sandbox.codes.map(({ code, item_id, description }) => [code, String(item_id), description]),
    ),
  );
  return sandbox;
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

/** `name`, `name=value`: values are JSON where they can be, else text. */
function parseSwitch(given: string): Record<string, unknown> {
  const [name = '', ...rest] = given.split('=');
  if (rest.length === 0) return { [name]: true };
  const value = rest.join('=');
  try {
    return { [name]: JSON.parse(value) };
  } catch {
    return { [name]: value };
  }
}
