import type { Worker } from 'node:cluster';
import type { ToPrimary, WorkerTally } from './messages.js';

/** What each worker told the primary of its work. */
export class Tally {
  readonly #byWorker = new Map<number, WorkerTally>();

  get all(): WorkerTally[] {
    return [...this.#byWorker.values()];
  }

  note(worker: Worker, message: Extract<ToPrimary, { kind: 'answered' | 'asked' }>): void {
    const own = this.#of(worker);
    if (message.kind === 'answered') {
      own.answered++;
      return;
    }
    const { what } = message;
    own.upstream[what] = (own.upstream[what] ?? 0) + 1;
    const inAll = this.all.reduce((total, each) => total + (each.upstream[what] ?? 0), 0);
    console.log(`worker ${worker.id} asked ${what}: call ${inAll} of the fleet`);
  }

  forget(worker: Worker): void {
    this.#byWorker.delete(worker.id);
  }

  #of(worker: Worker): WorkerTally {
    const known = this.#byWorker.get(worker.id);
    if (known !== undefined) return known;
    const pid = worker.process.pid ?? 0;
    const fresh: WorkerTally = { worker: worker.id, pid, answered: 0, upstream: {} };
    this.#byWorker.set(worker.id, fresh);
    return fresh;
  }
}
