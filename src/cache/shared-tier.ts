import { randomUUID } from 'node:crypto';
import { NoAnswer, withTimeout } from '../deadline.js';
import { reportDrift, warnOnce } from '../diagnostics.js';
import { isMarketgateError } from '../errors.js';
import { Seal } from '../seal.js';
import type { SharedCache } from './shared-cache.js';

/** The limit of one call to a shared cache, in milliseconds. */
export const MAX_CALL = 100;
/** Milliseconds for which a shared cache is left alone after a call that has failed. */
const REST = 1000;
/** How long a lease can be used, in milliseconds: its end is remembered for two minutes, and the write itself takes time. */
const LEASE_LIFE = 120_000 - MAX_CALL;
/** Milliseconds after which a sealed text counts no more, also where somebody has put it back. */
const DAY = 24 * 3_600_000;
/** The longest answer that is shared, in characters: a longer one would hold up the other calls. */
const MAX_LENGTH = 512 * 1024;
/** The name that messages are sealed for. */
const MESSAGE = 'message';

/** The subject of a withdrawal of everything. */
export const ALL = '';

/** An answer as it is shared. */
export interface Content {
  /** `null`: a negative answer. */
  readonly value: object | null;
  /** The spelling that was requested. */
  readonly spelling: string;
}

/** A row of the shared cache. */
export interface Row {
  /** What is stored. `undefined`: nothing, or nothing that this fleet has sealed. */
  readonly content: Content | undefined;
  /** Tells this answer from every other one, also from one of equal content. */
  readonly id: string;
  /** Milliseconds since its request. In doubt a positive answer is older, and a negative one is newer. */
  readonly age: number;
  /** The right to replace it. */
  readonly lease: Lease;
  /** As it was before the row was read: a message that is missed from then on makes the answer one of an earlier connection. */
  readonly connection: number;
}

interface Lease {
  readonly seal: Seal;
  readonly name: string;
  readonly text: string;
  /** When it was read, by `performance.now`. */
  readonly readAt: number;
}

export interface SharedTierOptions {
  /** Milliseconds that a call of the client can take in all. */
  readonly timeout: number;
  /** How long the oldest answer that can be served has been sealed, in milliseconds. */
  readonly staleIfError: number;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly apiKey: () => string | Promise<string>;
  /** The address of the service. */
  readonly service: string;
}

/**
 * A shared cache as one process uses it. Names are HMACs, and values and messages are sealed with the time at which that was
 * done. A call that fails gives `undefined` or false, and for a second no other is made: the process is on its own.
 */
export class SharedTier {
  /**
   * The number of the connection on which messages arrive, or arrived last. What was learned on an earlier one can have been
   * withdrawn by a message that was missed.
   */
  connection = 0;
  #isListening = false;
  #isClosed = false;
  #restsUntil = 0;
  #seal: Seal | undefined;
  #subscription: Promise<() => Promise<void>> | undefined;
  /** Called with the subject of each withdrawal that another process has published. */
  readonly #listeners: ((subject: string) => void)[] = [];
  /** Tells the messages of this process from those of others. */
  readonly #sender = randomUUID();

  constructor(
    private readonly cache: SharedCache,
    private readonly options: SharedTierOptions,
  ) {}

  /** Whether calls fail without being made. */
  get isResting(): boolean {
    return this.#isClosed || performance.now() < this.#restsUntil;
  }

  /** Whether every withdrawal since then, on this connection, was received. */
  isUpToDate(connection: number): boolean {
    return this.#isListening && connection === this.connection;
  }

  onWithdrawn(listener: (subject: string) => void): void {
    this.#listeners.push(listener);
  }

  /** Reads the row of a subject. `undefined`: the shared cache cannot be used now. */
  async read(subject: string): Promise<Row | undefined> {
    const seal = await this.#open();
    if (seal === undefined) return undefined;
    const { connection } = this;
    const name = seal.name(subject);
    const readAt = performance.now();
    const row = await this.#call((cache) => cache.read(name), checkRow);
    if (row === undefined) return undefined;
    const { value, age } = row;
    const content = value === undefined ? undefined : this.#opened(seal, name, value)?.content;
    if (value !== undefined && content === undefined) {
      const expected = 'a value sealed by this fleet, of this version';
      reportDrift(this, { endpoint: 'shared cache', kind: 'dropped', path: 'value', expected });
    }
    return {
      content,
      id: idOf(value ?? ''),
      age: content?.value ? age + performance.now() - readAt : age,
      lease: { seal, name, text: row.lease, readAt },
      connection,
    };
  }

  /**
   * Stores an answer under the lease that was read before it was requested.
   * @param age - milliseconds since its request. @param life - milliseconds from its request, for which it is of use.
   * @returns the id of its row, empty where it could not be stored; `undefined`: the subject was withdrawn meanwhile.
   */
  async write(
    { seal, name, text, readAt }: Lease,
    content: Content,
    age: number,
    life: number,
  ): Promise<string | undefined> {
    const left = Math.ceil(life - age);
    // Later, nobody remembers whether the lease has ended.
    if (left <= 0 || performance.now() - readAt > LEASE_LIFE) return '';
    const stored = await this.#call(async (cache) => {
      // Throws where an undocumented field is nested too deeply for JSON.
      const value = this.#sealed(seal, name, { content });
      if (value.length > MAX_LENGTH) return '';
      return (await cache.write(name, value, Math.ceil(age), left, text)) && idOf(value);
    });
    return stored === false ? undefined : (stored ?? '');
  }

  /**
   * Withdraws what all processes have about a subject, or about {@link ALL}, and tells them.
   * @param no - the negative answer that takes its place, for `life` milliseconds.
   * @returns whether the shared cache has done both.
   */
  async withdraw(subject: string, no?: Content, life = 0): Promise<boolean> {
    const seal = await this.#open();
    const isDone =
      seal &&
      (await this.#call(async (cache) => {
        if (subject === ALL) return true;
        const name = seal.name(subject);
        const value = no && life > 0 ? this.#sealed(seal, name, { content: no }) : undefined;
        await cache.withdraw(name, value, Math.ceil(life));
        return true;
      })) &&
      // The message comes last: whoever receives it finds the new row.
      (await this.#call(async (cache) => {
        await cache.publish(this.#sealed(seal, MESSAGE, { subject, sender: this.#sender }));
        return true;
      }));
    return isDone === true;
  }

  close(): void {
    this.#isClosed = true;
    this.#subscription?.then((stop) => stop()).catch(() => {});
  }

  /** Makes a call. `undefined`: it has failed, or was not made. @param check - throws for a reply that is none. */
  async #call<T>(
    make: (cache: SharedCache) => Promise<T>,
    check?: (reply: T) => void,
  ): Promise<T | undefined> {
    if (this.isResting) return undefined;
    const { connection } = this;
    try {
      const reply = await withTimeout(MAX_CALL, () => make(this.cache));
      check?.(reply);
      return reply;
    } catch (error) {
      if (!this.#isClosed) warnOnce('MARKETGATE_CACHE_NOT_SHARED', reasonOf(error));
      // A call that was made before the connection came back says nothing about it.
      if (connection === this.connection) this.#restsUntil = performance.now() + REST;
      return undefined;
    }
  }

  /** Subscribes, and gets the seal of the current api_key. `undefined`: the shared cache cannot be used now. */
  #open(): Seal | undefined | Promise<Seal | undefined> {
    if (this.isResting) return undefined;
    const key = this.options.apiKey();
    // Nearly every lookup has nothing to wait for.
    const isOpen = this.#subscription !== undefined && this.#seal?.secret === key;
    return isOpen ? this.#seal : this.#begin(key);
  }

  async #begin(key: string | Promise<string>): Promise<Seal | undefined> {
    const { timeout, service } = this.options;
    // The request to the service needs it too, so it is waited for longer than a call.
    const secret =
      typeof key === 'string' ? key : await withTimeout(timeout / 2, () => key).catch(() => {});
    if (secret === undefined || this.#isClosed) return undefined;
    if (this.#seal?.secret !== secret) this.#seal = new Seal(secret, service);
    const seal = this.#seal;
    // Waits for it a little, because what is learned before messages arrive must be asked about again.
    if (this.#subscription === undefined) {
      await withTimeout(MAX_CALL, () => this.#subscribe()).catch(() => {});
    }
    return seal;
  }

  #subscribe(): Promise<unknown> {
    const subscription = Promise.resolve().then(() =>
      this.cache.subscribe(
        (message) => this.#onMessage(message),
        (isListening) => this.#onListening(isListening),
      ),
    );
    this.#subscription = subscription;
    // The next lookup tries again.
    subscription.catch(() => {
      this.#subscription = undefined;
    });
    return subscription;
  }

  #onListening(isListening: boolean): void {
    this.#isListening = isListening;
    if (!isListening) return;
    this.connection++;
    this.#restsUntil = 0;
  }

  #onMessage(text: string): void {
    // Another shop can use the same channel: its messages do not open.
    const message = this.#seal && this.#opened(this.#seal, MESSAGE, text);
    if (message === undefined || message.sender === this.#sender) return;
    for (const listener of this.#listeners) listener(message.subject as string);
  }

  #sealed(seal: Seal, name: string, content: Omit<Sealed, 'at'>): string {
    return seal.seal(name, JSON.stringify({ ...content, at: this.options.clock() }));
  }

  /** `undefined` for what was not sealed for this name, or too long ago. */
  #opened(seal: Seal, name: string, sealed: unknown): Sealed | undefined {
    const text = typeof sealed === 'string' ? seal.open(name, sealed) : undefined;
    const content: Sealed | undefined = text === undefined ? undefined : JSON.parse(text);
    const { clock, staleIfError } = this.options;
    const isOver = content && clock() - content.at > Math.max(DAY, staleIfError);
    return isOver ? undefined : content;
  }
}

/** What is sealed: the parts of a row or of a message, and when. */
interface Sealed {
  readonly at: number;
  readonly content?: Content;
  readonly subject?: string;
  readonly sender?: string;
}

/** The end of a sealed text is a checksum that depends on a random number. */
const idOf = (sealed: string): string => sealed.slice(-22);

/** Why a call has failed. A message of another library can contain a key or a value. */
function reasonOf(error: unknown): string {
  if (error instanceof NoAnswer) return `: it ${error.message}`;
  return isMarketgateError(error) ? `: ${error.message.split(';')[0]}` : '';
}

type SharedRow = Awaited<ReturnType<SharedCache['read']>>;

/** @throws for what is no row: a shared cache can return anything. */
function checkRow({ value, age, lease }: SharedRow): void {
  const isText = value === undefined || typeof value === 'string';
  if (isText && age >= 0 && typeof lease === 'string') return;
  throw new TypeError('the shared cache gave no row');
}
