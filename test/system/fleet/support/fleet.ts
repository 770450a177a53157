import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'tsup';
import {
  type CommandName,
  type Input,
  type Order,
  type Outcomes,
  type Output,
  type Reply,
  sum,
} from './commands.js';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url));

let built: Promise<string> | undefined;

/** worker.ts as one JavaScript module: built once, since each process would compile all of src. */
async function buildWorker(): Promise<string> {
  const outDir = await mkdtemp(join(tmpdir(), 'marketgate-fleet-'));
  try {
    await build({
      ...{ entry: [WORKER], outDir, config: false, format: 'esm', target: 'node20' },
      ...{ dts: false, silent: true, splitting: false, skipNodeModulesBundle: true },
    });
    return await readFile(join(outDir, 'worker.js'), 'utf8');
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
}

/** One process of the fleet, seen from the test. */
export class Worker {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #last = 0;
  #end: string | undefined;

  constructor(program: string) {
    // From its stdin: imports are found from the working directory, and no file is left behind.
    const args = ['--input-type=module', '-'];
    this.#child = spawn(process.execPath, args, {
      cwd: ROOT,
      stdio: ['pipe', 'ignore', 'inherit', 'ipc'],
    });
    this.#child.stdin?.end(program);
    // It does not keep the process of the tests from ending, and ends with it.
    this.#child.unref();
    this.#child.channel?.unref();
    this.#child.once('exit', (code, signal) => {
      this.#end = `the process ended: ${code ?? signal}`;
      for (const [id, settle] of this.#waiting) settle({ id, error: this.#end });
    });
    this.#child.on('message', (message) => {
      const reply = message as Reply;
      this.#waiting.get(reply.id)?.(reply);
      this.#waiting.delete(reply.id);
    });
  }

  do<K extends CommandName>(name: K, input: Input<K>): Promise<Output<K>> {
    const order: Order = { id: ++this.#last, name, input };
    if (this.#end !== undefined) return Promise.reject(new Error(`${name}: ${this.#end}`));
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

  get isAlive(): boolean {
    return this.#end === undefined;
  }

  /** SIGKILL: it cannot tidy up. */
  async kill(): Promise<void> {
    if (!this.isAlive) return;
    this.#child.ref();
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}

/** Processes without a member: they are started once for all files of a worker. */
const idle: Worker[] = [];

/** Processes that share a Redis, every other one with the other library. */
export class TestFleet {
  private constructor(readonly workers: readonly Worker[]) {}

  /** @param urls of Redis, one for each process; they can be proxies. */
  static async start(
    serviceUrl: string,
    urls: readonly string[],
    skews: readonly number[] = [],
  ): Promise<TestFleet> {
    built ??= buildWorker();
    const program = await built;
    const fleet = new TestFleet(urls.map(() => idle.pop() ?? new Worker(program)));
    const begin = fleet.workers.map((worker, n) =>
      worker.do('begin', {
        serviceUrl,
        redisUrl: urls[n] ?? '',
        skew: skews[n] ?? 0,
        client: n % 2 === 0 ? 'node-redis' : 'ioredis',
      }),
    );
    await Promise.all(begin);
    return fleet;
  }

  all<K extends CommandName>(name: K, input: Input<K>): Promise<Output<K>[]> {
    return Promise.all(this.workers.map((worker) => worker.do(name, input)));
  }

  /** Each process asks for the code that many times, all at once. */
  async ask(code: string, times = 1): Promise<Outcomes> {
    return sum(await this.all('ask', { code, times }));
  }

  /** Leaves the processes to the next fleet. */
  async stop(): Promise<void> {
    const alive = this.workers.filter(({ isAlive }) => isAlive);
    await Promise.all(alive.map((worker) => worker.do('end', {})));
    idle.push(...alive);
  }
}
