import { isMarketgateError, type KeyApi, type TokenStore } from 'marketgate';
import { type LoadOutcomes, machineTime } from './commands.js';
import { noOutcomes, note } from './outcomes.js';

const VISITORS = 4;
/** Between two requests of one visitor, in milliseconds. */
const PAUSE = 10;

/**
 * Visitors that go on asking until they are stopped: half of them about codes that every process knows,
 * half about codes nobody has asked for yet, the same in all processes at about the same time. One
 * more reads a user's token.
 */
export class Load {
  readonly #keyApi: KeyApi;
  readonly #tokens: TokenStore;
  #running: Promise<unknown> = Promise.resolve();
  #isOn = false;
  outcomes: LoadOutcomes = noLoad();

  constructor(keyApi: KeyApi, tokens: TokenStore) {
    this.#keyApi = keyApi;
    this.#tokens = tokens;
  }

  start(name: string, hot: readonly string[], user: string): void {
    this.#isOn = true;
    this.outcomes = noLoad();
    this.#running = Promise.all([
      this.#readTokens(user),
      ...Array.from({ length: VISITORS }, () => this.#visit(name, hot)),
    ]);
  }

  async stop(): Promise<LoadOutcomes> {
    this.#isOn = false;
    await this.#running;
    return this.outcomes;
  }

  async #visit(name: string, hot: readonly string[]): Promise<void> {
    for (let n = 0; this.#isOn; n++) {
      // Wall clock, so that a new code is asked for by the whole fleet at once.
      const cold = `${name}-${Math.floor(Date.now() / 20)}`;
      const code = (n % 2 === 0 ? hot[n % hot.length] : undefined) ?? cold;
      await note(this.outcomes, async () =>
        (await this.#keyApi.validatePurchase(code)) === null ? 'no' : 'yes',
      );
      await pause();
    }
  }

  async #readTokens(user: string): Promise<void> {
    const { tokens } = this.outcomes;
    while (this.#isOn) {
      const begun = machineTime();
      try {
        if ((await this.#tokens.get(user)) === undefined) tokens.missing++;
        else tokens.found++;
      } catch (error) {
        const isRefusal = isMarketgateError(error) && error.code === 'store_unavailable';
        tokens[isRefusal ? 'refused' : 'other']++;
      }
      tokens.slowest = Math.max(tokens.slowest, machineTime() - begun);
      await pause();
    }
  }
}

const noLoad = (): LoadOutcomes => ({
  ...noOutcomes(),
  tokens: { found: 0, missing: 0, refused: 0, other: 0, slowest: 0 },
});

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, PAUSE));
