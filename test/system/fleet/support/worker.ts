import { Pool } from 'undici';
import { type Handlers, noOutcomes, note, type Order, type Reply, wordsFor } from './commands.js';
import { createMember, type Member } from './member.js';

// One process of a fleet. It does what the test says over IPC, and ends with the test's process.
process.once('disconnect', () => process.exit());

const realNow = performance.now.bind(performance);
/** Milliseconds by which time is ahead, and when it stopped, if it has. */
let ahead = 0;
let stoppedAt: number | undefined;
performance.now = () => (stoppedAt ?? realNow()) + ahead;

let handlers: Partial<Handlers> = {
  async begin(settings) {
    stoppedAt = settings.isPatient ? realNow() : undefined;
    handlers = { ...handlers, ...handlersOf(await createMember(settings)) };
  },
  async pass({ milliseconds }) {
    ahead += milliseconds;
  },
};

function handlersOf(member: Member): Partial<Handlers> {
  const { keyApi, url } = member;
  const crowd = new Pool(new URL(url).origin, { connections: 250 });

  const askClient = async (code: string, fresh = false): Promise<'yes' | 'no'> =>
    (await keyApi.validatePurchase(code, { fresh })) === null ? 'no' : 'yes';
  const askGuard = async (code: string): Promise<'yes' | 'no'> => {
    const headers = { 'x-purchase-code': code, 'x-visitor': code };
    const { statusCode, body } = await crowd.request({ method: 'GET', path: '/guarded', headers });
    await body.dump();
    if (statusCode >= 500 || statusCode === 429) throw new Error(`status ${statusCode}`);
    return statusCode === 200 ? 'yes' : 'no';
  };

  return {
    async end() {
      await crowd.destroy();
      await member.close();
    },
    async ask({ code, times, via, fresh = false }) {
      const outcomes = noOutcomes();
      const look = via === 'client' ? askClient : askGuard;
      await Promise.all(
        Array.from({ length: times }, () => note(outcomes, () => look(code, fresh))),
      );
      return outcomes;
    },
    async peek({ code }) {
      const known = keyApi.peekPurchase(code);
      if (known === undefined) return 'nothing';
      return known === null ? 'no' : 'yes';
    },
    invalidate: ({ code }) =>
      keyApi.invalidate(code).then(
        () => true,
        () => false,
      ),
    async forgotten({ code }) {
      while (keyApi.peekPurchase(code) !== undefined) await nextLook();
    },
  };
}

const nextLook = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

process.on('message', (message) => {
  const { id, name, input } = message as Order;
  const handle = handlers[name] as (given: unknown) => Promise<unknown>;
  const reply = (answer: Omit<Reply, 'id'>) => void process.send?.({ id, ...answer });
  handle(input).then(
    (output) => reply({ output }),
    (error: unknown) => reply({ error: wordsFor(error) }),
  );
});
