import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** What a program that ran to its end left behind. */
export interface Outcome {
  readonly ok: boolean;
  readonly output: string;
}

// Reads the process group of the program that runs now, and an empty line when it has ended. Its stdin ends with this
// process, however that ends, so also a killed matrix leaves no process and no folder behind.
const WATCHDOG =
  'while read -r group; do now=$group; done; [ -z "$now" ] || kill -s KILL -- "-$now"; rm -rf "$0"';

/** Runs programs in a workplace, one at a time. */
export class Runner {
  readonly #watchdog;

  /** @param workplace a folder that is removed at the end. */
  constructor(readonly workplace: string) {
    const stdio = ['pipe', 'ignore', 'ignore'] as const;
    // Detached, so that Ctrl-C does not end it with the others.
    this.#watchdog = spawn('sh', ['-c', WATCHDOG, workplace], {
      stdio: [...stdio],
      detached: true,
    });
  }

  /** Runs a program to its end. One that does not end by itself has failed. */
  async run(
    command: string,
    args: readonly string[],
    { cwd = this.workplace, env = {}, seconds = 180 } = {} as {
      cwd?: string;
      env?: NodeJS.ProcessEnv;
      seconds?: number;
    },
  ): Promise<Outcome> {
    const child = spawn(command, args, {
      ...{ cwd, env: { ...process.env, ...env }, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#watchdog.stdin.write(`${child.pid ?? ''}\n`);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk) => {
        output += chunk;
      });
    }
    const deadline = setTimeout(() => {
      output = `It did not end within ${seconds} s.\n${output}`;
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, seconds * 1000);
    try {
      const [code] = await once(child, 'close');
      return { ok: code === 0, output: output.trim() };
    } finally {
      clearTimeout(deadline);
      this.#watchdog.stdin.write('\n');
    }
  }

  /** As {@link run}, for a step that must succeed; returns what was printed. */
  async must(...args: Parameters<Runner['run']>): Promise<string> {
    const { ok, output } = await this.run(...args);
    if (!ok) throw new Error(`${args[0]} ${args[1].join(' ')} failed:\n${output}`);
    return output;
  }

  /** Removes the workplace. */
  async end(): Promise<void> {
    const ended = once(this.#watchdog, 'close');
    this.#watchdog.stdin.end();
    await ended;
  }
}
