import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** An example in a process of its own. */
export interface RunningExample {
  readonly child: ChildProcess;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string | null>;
  output(): string;
  /** The first match of what it prints: the first group, or all of it. */
  prints(pattern: RegExp): Promise<string>;
}

/** Starts an example as its README does, from the repository's root, until the test is over. */
export function runExample(file: string, env: Record<string, string>): RunningExample {
  // Of this process only what a shell would have: no NODE_ENV=test, no MARKETPLACE_… of a developer.
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, ['--import', 'tsx', `examples/${file}`], {
    cwd: ROOT,
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      child.emit('printed');
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  onTestFinished(() => void child.kill('SIGKILL'));
  return {
    child,
    ended,
    output: () => text,
    async prints(pattern) {
      for (;;) {
        const found = pattern.exec(text);
        if (found) return found[1] ?? found[0];
        if (child.exitCode !== null) throw new Error(`it ended: ${text}`);
        await Promise.race([once(child, 'printed'), ended]);
      }
    },
  };
}
