import { KeyApi, type KeyApiOptions } from 'marketgate';
import { onTestFinished } from 'vitest';
import {
  type Answerer,
  json,
  page,
  type Reply,
  ServiceInMemory,
  type ServiceRequest,
  type WireAnswer,
} from './service-in-memory.js';
import { account, item, KEY, purchase, refusal, success } from './wire.js';

export const ACCOUNT = '/api/account/details';
export const ITEMS = '/api/items/all';
export const ITEM = '/api/items/item';
export const VALIDATION = '/api/purchases/validation';

export async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise(setImmediate);
}

/** Begins calls, and gives them back when their requests have been sent. */
export async function begun<T extends Promise<unknown>[]>(...calls: T): Promise<T> {
  await settle();
  return calls;
}

/** What the cache of a process has about a code: a call that is aborted already gets only that, and sends nothing. */
export const cachedPurchase = (keyApi: KeyApi, code: string) =>
  keyApi.validatePurchase(code, { signal: AbortSignal.abort() }).catch(() => undefined);

/** The key API in memory, with a clock that the test moves. */
export class KeyApiService {
  now = 1_800_000_000_000;
  /** How the service answers: the account stays known, whatever it says of codes and items. */
  says: 'positive' | 'negative' | 'outage' | 'page' | 'silence' = 'positive';
  /** The api_keys that it knows; all, when absent. */
  keys: Set<string> | undefined;
  items: unknown[] = [item, { ...item, id: 1043 }];
  /** The item in a purchase, and of items/item. */
  item: object = item;
  /** Goes before everything else, where it returns something. */
  override: ((...given: Parameters<Answerer>) => Reply | undefined) | undefined;
  readonly wire = new ServiceInMemory((request, n) => this.#hold(this.#reply(request, n)));
  readonly #held: (() => void)[] = [];
  #holds = false;

  constructor(
    state: Partial<Pick<KeyApiService, 'says' | 'keys' | 'items' | 'item' | 'override'>> = {},
  ) {
    Object.assign(this, state);
  }

  /** How many requests there were, to one path (the validation) or to all. */
  asked(path: string | 'all' = VALIDATION): number {
    return this.wire.count(path === 'all' ? undefined : path);
  }

  /** Lets time pass, and answers like this from then on. */
  later(milliseconds: number, says = this.says): void {
    this.now += milliseconds;
    this.says = says;
  }

  /** From now on answers wait for {@link release}. What they say is decided when they are asked. */
  hold(): void {
    this.#holds = true;
  }

  /** Lets all answers go; or some of those that wait, by the order in which they were asked. */
  async release(...which: number[]): Promise<void> {
    if (which.length === 0) this.#holds = false;
    const held = which.length === 0 ? this.#held.splice(0) : which.map((n) => this.#held[n]);
    for (const go of held) go?.();
    await settle();
  }

  /** A client of this service, closed with the test; another process, when there are more. */
  client(options: Partial<KeyApiOptions> = {}): KeyApi {
    const keyApi = new KeyApi({
      baseUrl: 'https://market.example',
      apiKey: KEY,
      retries: 0,
      clock: () => this.now,
      fetch: this.wire.fetch,
      ...options,
    });
    onTestFinished(() => keyApi.close());
    return keyApi;
  }

  #hold(reply: Reply): Reply {
    if (!this.#holds) return reply;
    return new Promise<WireAnswer | Error>((resolve) => {
      this.#held.push(() => resolve(reply));
    });
  }

  #reply(request: ServiceRequest, n: number): Reply {
    const reply = this.override?.(request, n);
    if (reply !== undefined) return reply;
    if (this.says === 'outage') return page(503);
    if (this.says === 'page') return page(200);
    if (this.says === 'silence') return new Promise(() => {});
    const { path } = request;
    const isKnown = this.keys?.has(request.parameter('api_key') ?? '') ?? true;
    const answer = (payload: object, no: string, isYes = isKnown && this.says === 'positive') =>
      json(isYes ? success(payload) : refusal(no));
    const id = Number(request.parameter('item_id'));
    const purchase_code = request.parameter('purchase_code');
    const sold = { ...purchase, purchase_code, item: this.item };
    if (path === ACCOUNT) return answer({ data: account }, 'Invalid request', isKnown);
    if (path === ITEMS) return answer({ items: this.items }, 'No items found');
    if (path === ITEM) return answer({ item: { ...this.item, id } }, 'Item Not Found');
    return answer({ data: { purchase: sold } }, 'Invalid purchase code');
  }
}

/** A service in some state, and a client of it. */
export function keyApiOn(
  state: ConstructorParameters<typeof KeyApiService>[0] = {},
  options: Partial<KeyApiOptions> = {},
) {
  const service = new KeyApiService(state);
  return { service, keyApi: service.client(options) };
}
