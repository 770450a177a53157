import { KeyApi } from 'marketgate';
import { RedisCache } from 'marketgate/redis';
import { CLIENTS } from '../../../support/redis-server.js';
import {
  type Handlers,
  type MemberSettings,
  type Order,
  type Outcomes,
  type Reply,
  wordsFor,
} from './commands.js';

// One process of a fleet. It does what the test says over IPC, and ends with the test's process.
process.once('disconnect', () => process.exit());

const realNow = performance.now.bind(performance);
/** Milliseconds by which time is ahead. */
let ahead = 0;
performance.now = () => realNow() + ahead;

async function memberOf(settings: MemberSettings): Promise<Partial<Handlers>> {
  const { client, close } = await CLIENTS[settings.client](settings.redisUrl);
  const keyApi = new KeyApi({
    ...{ baseUrl: settings.serviceUrl, apiKey: 'key-of-the-shop', retries: 0 },
    clock: () => Date.now() + (settings.skew ?? 0),
    cache: { shared: new RedisCache({ client }) },
  });
  return {
    async end() {
      await keyApi.close();
      close();
    },
    async ask({ code, times = 1, fresh = false }) {
      const outcomes: Outcomes = { yes: 0, no: 0, why: [] };
      const ask = () =>
        keyApi.validatePurchase(code, { fresh }).then(
          (found) => void outcomes[found === null ? 'no' : 'yes']++,
          (error: unknown) => void outcomes.why.push(wordsFor(error)),
        );
      await Promise.all(Array.from({ length: times }, ask));
      return outcomes;
    },
    async peek({ code }) {
      const known = keyApi.peekPurchase(code);
      if (known === undefined) return 'nothing';
      return known === null ? 'no' : 'yes';
    },
    async invalidate({ code }) {
      await keyApi.invalidate(code).catch(() => {});
      return undefined;
    },
  };
}

let handlers: Partial<Handlers> = {
  async begin(settings) {
    handlers = { ...handlers, ...(await memberOf(settings)) };
  },
  async pass({ milliseconds }) {
    ahead += milliseconds;
  },
};

process.on('message', (message) => {
  const { id, name, input } = message as Order;
  const handle = handlers[name] as (given: unknown) => Promise<unknown>;
  const reply = (answer: Omit<Reply, 'id'>) => void process.send?.({ id, ...answer });
  handle(input).then(
    (output) => reply({ output }),
    (error: unknown) => reply({ error: wordsFor(error) }),
  );
});
