import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type {
  CommandName,
  Input,
  Order,
  Outcomes,
  Output,
  Reply,
  WorkerSettings,
} from './commands.js';
import { sum } from './outcomes.js';

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

/** One process of the fleet, seen from the test. */
export class Worker {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  readonly ready: Promise<void>;
  #last = 0;

  constructor(settings: WorkerSettings) {
    this.#child = fork(WORKER, [JSON.stringify(settings)], {
      cwd: ROOT,
      execArgv: ['--import', 'tsx'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.ready = new Promise((resolve, reject) => {
      this.#waiting.set(0, () => resolve());
      this.#child.once('exit', (code, signal) => {
        const error = `the process ended: ${code ?? signal}`;
        reject(new Error(error));
        for (const [id, settle] of this.#waiting) settle({ id, error });
      });
    });
    this.#child.on('message', (message) => {
      const reply = message as Reply;
      this.#waiting.get(reply.id)?.(reply);
      this.#waiting.delete(reply.id);
    });
  }

  do<K extends CommandName>(name: K, input: Input<K>): Promise<Output<K>> {
    const order: Order = { id: ++this.#last, name, input };
    return new Promise((resolve, reject) => {
      this.#waiting.set(order.id, ({ error, output }) => {
        if (error === undefined) resolve(output as Output<K>);
        else reject(new Error(`${name}: ${error}`));
      });
      this.#child.send(order, (error) => {
        if (error) reject(error);
      });
    });
  }

  /** SIGKILL: it cannot tidy up. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}

/** Processes that share a Redis, every other one with the other library. */
export class TestFleet {
  readonly workers: readonly Worker[];

  private constructor(workers: readonly Worker[]) {
    this.workers = workers;
  }

  /** @param urls of Redis, one for each process; they may be proxies. */
  static async start(
    settings: Omit<WorkerSettings, 'redisUrl' | 'client'>,
    urls: readonly string[],
  ): Promise<TestFleet> {
    const fleet = new TestFleet(
      urls.map(
        (redisUrl, n) =>
          new Worker({ ...settings, redisUrl, client: n % 2 === 0 ? 'node-redis' : 'ioredis' }),
      ),
    );
    try {
      await Promise.all(fleet.workers.map((worker) => worker.ready));
    } catch (error) {
      await fleet.stop();
      throw error;
    }
    return fleet;
  }

  /** Lets every process do the same, at once. */
  all<K extends CommandName>(name: K, input: Input<K>): Promise<Output<K>[]> {
    return Promise.all(this.workers.map((worker) => worker.do(name, input)));
  }

  /** Each process asks for the code that many times, all at once. */
  async ask(code: string, times = 1, via: 'client' | 'guard' = 'client'): Promise<Outcomes> {
    return sum(await this.all('ask', { code, times, via }));
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.kill()));
  }
}
