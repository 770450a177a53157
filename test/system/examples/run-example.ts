import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject, onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Longer than an example waits for requests in progress when it ends. */
const PATIENCE = 7000;

type Env = Readonly<NodeJS.ProcessEnv>;

/** Runs an example, built beforehand, with plain `node`, until the test is over. `file` is its path in `examples`. */
export function runExample(file: string, env: Env): RunningExample {
  const built = join(inject('builtPackage'), 'examples', file.replace(/\.ts$/, '.js'));
  return untilTestEnds(start([built], dirname(built), env));
}

/** Runs any program from the top of the repository, until the test is over. */
export const runNode = (args: readonly string[], env: Env): RunningExample =>
  untilTestEnds(start(args, ROOT, env));

function untilTestEnds(running: RunningExample): RunningExample {
  onTestFinished(() => running.end(), PATIENCE + 1000);
  return running;
}

export type RunningExample = ReturnType<typeof start>;

/** Starts a program; it can send messages, and is killed when it takes much too long. */
export function start(args: readonly string[], cwd: string, env: Env) {
  // Of this process only what a shell would have: no NODE_ENV=test, no MARKETPLACE_… of a developer.
  const { PATH, HOME, TMPDIR, SYSTEMROOT } = process.env;
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH, HOME, TMPDIR, SYSTEMROOT, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    timeout: 290_000,
    killSignal: 'SIGKILL',
  });
  const texts = { all: '', out: '', err: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      texts.all += chunk;
      texts[stream === child.stderr ? 'err' : 'out'] += chunk;
      child.emit('printed');
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  return {
    child,
    /** Its exit code, or the signal that ended it. */
    ended,
    all: () => texts.all,
    errors: () => texts.err,
    output: () => texts.out,
    /** The first match of what it prints: the first group, or all of it. */
    async prints(pattern: RegExp): Promise<string> {
      for (;;) {
        const found = pattern.exec(texts.all);
        if (found) return found[1] ?? found[0];
        if (child.exitCode !== null) throw new Error(`it ended: ${texts.all}`);
        await Promise.race([once(child, 'printed'), ended]);
      }
    },
    /** Ends it in good order; kills it when that takes too long. */
    async end(): Promise<void> {
      child.kill('SIGTERM');
      const tooLong = setTimeout(() => child.kill('SIGKILL'), PATIENCE);
      await ended;
      clearTimeout(tooLong);
    },
  };
}
