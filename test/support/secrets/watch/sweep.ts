import { SecretIndex } from '../support/secret-forms.js';

/** The parameters that carry secrets, by their names on the wire. */
export const SECRET_NAMES = [
  'api_key',
  'app_secret',
  'auth_key',
  'access_token',
  'purchase_code',
] as const;
export type SecretKind = (typeof SECRET_NAMES)[number];

/** What got out, where, and what is needed to tell whether it was meant to. */
export interface Outlet {
  readonly exit: 'error' | 'output' | 'diagnostics' | 'answer' | 'redis' | 'sandbox.requests';
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
/** A test of ten thousand guesses is not better for ten thousand secrets and answers. */
const MOST = 2000;
/** Of one text. */
export const LONGEST = 256 * 1024;

/** Collects the secrets that are in play, and what gets out, and compares. */
class Sweep {
  #secrets = new Map<string, Set<SecretKind>>();
  #index = new SecretIndex();
  #outlets = new Map<string, () => Outlet>();
  /** Apps that are a service, and so say secrets by their nature. */
  readonly services = new WeakSet<object>();

  /** Forgets the secrets of the file before. */
  begin(): void {
    this.#secrets = new Map();
    this.#index = new SecretIndex();
    this.#outlets = new Map();
  }

  /** A secret that is in use from now on, for all tests of this file. */
  secret(kind: SecretKind, value: unknown): void {
    const plain = typeof value === 'string' ? value.trim() : '';
    // A log in which secrets are withheld names them, too.
    if (plain.length < SHORTEST || plain.startsWith('[redacted]')) return;
    const kinds = this.#secrets.get(plain) ?? new Set();
    if (kinds.size === 0 && this.#secrets.size < MOST) this.#index.add(plain);
    this.#secrets.set(plain, kinds.add(kind));
  }

  /**
   * Something gets out. It is looked at when the test is over, so that it may still change; the same twice counts once.
   */
  out(exit: Outlet['exit'], key: string, read: () => string | Omit<Outlet, 'exit'>): void {
    if (this.#outlets.size >= MOST) return;
    this.#outlets.set(`${exit} ${key}`, () => {
      const given = read();
      return { exit, ...(typeof given === 'string' ? { text: given } : given) };
    });
  }

  /** What has got out since this was asked last. */
  findings(): Finding[] {
    // Before the search, because reading an outlet can bring in more secrets.
    const outlets = [...this.#outlets.values()].map((read) => read());
    this.#outlets = new Map();
    return outlets.flatMap((outlet) =>
      this.#index.secretsIn(outlet.text.slice(0, LONGEST)).map((secret) => ({
        ...outlet,
        secret,
        kinds: this.#secrets.get(secret) ?? new Set(),
      })),
    );
  }
}

/** The one of this worker: vitest runs its setup and its tests with the same modules. */
export const sweep = new Sweep();
