import { vi } from 'vitest';
import { run } from '../../../src/cli/program.js';
import { deferred } from '../../support/deferred.js';
import { openShop } from '../../support/shop.js';

interface Options {
  /** Called when a sandbox has printed its first lines; it stops when this settles. */
  readonly whileRunning?: (printed: string) => Promise<void>;
  readonly stdin?: string;
  readonly cwd?: string;
}

/** Runs a command as a shell does. */
export async function cli(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  { whileRunning = async () => {}, stdin = '', cwd = '/nowhere' }: Options = {},
) {
  // Wherever the tests run. Node.js looks at this first.
  vi.stubEnv('FORCE_COLOR', '0');
  let out = '';
  let err = '';
  const started = deferred();
  const used = started.promise.then(() => whileRunning(out));
  const code = await run(args, {
    io: {
      read: async () => stdin,
      out: (text) => {
        out += `${text}\n`;
        started.resolve();
      },
      err: (text) => {
        err += `${text}\n`;
      },
    },
    environment,
    self: 'npx marketgate',
    cwd,
    // What fails in a test is no mistake in the arguments of the command.
    untilStopped: () => used.catch(() => undefined),
  });
  if (out !== '') await used;
  return { code, out, err };
}

/** A shop, with the environment of an app that uses its sandbox. */
export async function service() {
  const { sandbox, baseUrl: url, apiKey, app, code } = await openShop();
  sandbox.redirectUrl = 'http://localhost:3000/callback';
  const environment = {
    MARKETPLACE_BASE_URL: url,
    MARKETPLACE_API_KEY: apiKey,
    MARKETPLACE_AUTH_URL: app.authUrl,
    MARKETPLACE_APP_ID: app.appId,
    MARKETPLACE_APP_SECRET: app.appSecret,
  };
  return { sandbox, url, environment, code };
}

/** Runs `doctor --json`: the status of each check, and what was said of it. */
export async function diagnose(environment: NodeJS.ProcessEnv, ...flags: string[]) {
  const { code, out } = await cli(['doctor', '--json', ...flags], environment);
  const { findings } = JSON.parse(out) as { findings: Record<string, string>[] };
  const by = (name: string): Record<string, string> =>
    Object.fromEntries(findings.map((each) => [each.check, each[name] ?? '']));
  return { code, out, found: by('status'), said: by('detail') };
}
