import { formsOf, SecretIndex } from '../support/secret-forms.js';

/** The parameters that carry secrets, by their names on the wire. */
export const SECRET_NAMES = [
  'api_key',
  'app_secret',
  'auth_key',
  'access_token',
  'purchase_code',
] as const;
export type SecretKind = (typeof SECRET_NAMES)[number];

/** Somewhere that things get out: a log, an answer, Redis. */
export type Exit =
  | 'error'
  | 'console'
  | 'output'
  | 'warning'
  | 'diagnostics'
  | 'answer'
  | 'redis'
  | 'sandbox.requests';

/** What got out, and what is needed to tell whether it was meant to. */
export interface Outlet {
  readonly exit: Exit;
  readonly text: string;
  /** Of an answer: its HTTP status, and all that its own request held. */
  readonly status?: number;
  readonly request?: string;
}

export interface Finding extends Outlet {
  readonly secret: string;
  readonly kinds: ReadonlySet<SecretKind>;
}

/** Shorter ones are words like "k" and "wrong", which stand everywhere. */
const SHORTEST = 10;
/** A test of ten thousand guesses is not better for ten thousand secrets. */
const MOST_SECRETS = 1500;
/** The same for what gets out; the same text twice counts once. */
const MOST_OUTLETS = 2000;
const LONGEST = 256 * 1024;

/** Collects the secrets that are in play, and what gets out, and compares. */
export class Sweep {
  readonly #secrets = new Map<string, Set<SecretKind>>();
  /** Secrets that are not in the index yet: their forms are computed when something got out. */
  #unindexed: string[] = [];
  #index = new SecretIndex();
  #outlets = new Map<string, () => Outlet>();
  /** Listeners of HTTP servers that are a service, and so say secrets by their nature. */
  readonly services = new WeakSet<object>();
  #hasBegun = false;

  /** Forgets the secrets of the file before. Whether there was none: this is a new worker. */
  isFirstFile(): boolean {
    const isFirst = !this.#hasBegun;
    this.#hasBegun = true;
    this.#secrets.clear();
    this.#unindexed = [];
    this.#index = new SecretIndex();
    this.#outlets = new Map();
    return isFirst;
  }

  /** A secret that is in use from now on, for all tests of this file. */
  secret(kind: SecretKind, value: unknown): void {
    if (typeof value !== 'string') return;
    const plain = value.trim();
    // A log in which secrets are withheld names them, too.
    if (plain.length < SHORTEST || plain.startsWith('[redacted]')) return;
    const kinds = this.#secrets.get(plain);
    if (kinds !== undefined) kinds.add(kind);
    else if (this.#secrets.size < MOST_SECRETS) {
      this.#secrets.set(plain, new Set([kind]));
      this.#unindexed.push(plain);
    }
  }

  /** Something gets out. It is looked at when the test is over, so that it may still change. */
  out(key: string, outlet: () => Outlet): void {
    if (this.#outlets.size < MOST_OUTLETS) this.#outlets.set(key, outlet);
  }

  findings(): Finding[] {
    if (this.#outlets.size === 0) return [];
    const outlets = this.#outlets;
    this.#outlets = new Map();
    // Before the search, because reading an outlet can bring in more secrets.
    const texts = [...outlets.values()].map((read) => read());
    for (const secret of this.#unindexed) this.#index.add(formsOf(secret));
    this.#unindexed = [];
    return texts.flatMap((outlet) =>
      this.#index.secretsIn(outlet.text.slice(0, LONGEST)).map((secret) => ({
        ...outlet,
        secret,
        kinds: this.#secrets.get(secret) ?? new Set<SecretKind>(),
      })),
    );
  }
}

/** The one of this worker: vitest runs its setup and its tests with the same modules. */
export const sweep = new Sweep();
