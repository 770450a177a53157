import { shapedOption, wrongOption } from '../../options.js';

/** Something that tells of its errors by an event, as Keyv and its storage adapters do. */
export interface KeyvEmitter {
  /** Adds a listener. */
  on?(event: 'error', listener: (error: unknown) => void): unknown;
  /** Takes it away again. */
  off?(event: 'error', listener: (error: unknown) => void): unknown;
  /** Who listens. */
  listeners?(event: 'error'): readonly unknown[];
}

/** One that can be listened to, and left again. */
export type ErrorEmitter = KeyvEmitter & Required<Pick<KeyvEmitter, 'on' | 'off'>>;

/**
 * What is used of a `Keyv`, of version 5 or 6. Spelt out here and not taken from `keyv`, so that
 * neither the package nor its types need one particular version, or any.
 */
export interface KeyvLike extends KeyvEmitter {
  /** What is stored under a key. */
  get(key: string): Promise<unknown>;
  /** The same with its expiry; absent before Keyv 5.5. */
  getRaw?(key: string): Promise<unknown>;
  /** Stores a value, for `ttl` milliseconds. */
  set(key: string, value: string, ttl?: number): Promise<unknown>;
  /** Forgets a key. */
  delete(key: string): Promise<unknown>;
}

/** Members of some versions only, that are looked at but not relied on. */
interface Traits {
  readonly store?: unknown;
  readonly throwOnErrors?: unknown;
  readonly throwOnEmptyListeners?: unknown;
}

/** @throws TypeError that names the option. */
export function checkKeyv(owner: string, value: unknown): KeyvLike {
  const what = 'a Keyv, as in new Keyv({ store })';
  const keyv = shapedOption<KeyvLike>(owner, 'keyv', value, ['get', 'set', 'delete'], what);
  // A Map has these methods too, but would keep every token for ever.
  if (keyv instanceof Map)
    throw wrongOption(owner, 'keyv', `must be ${what}; a Map goes inside one`);
  // Keyv 5.4, alone of all versions: `get` hides every error, and there is no `getRaw` yet.
  const { throwOnErrors } = keyv as Traits;
  if (typeof keyv.getRaw !== 'function' && throwOnErrors === false) {
    throw wrongOption(
      owner,
      'keyv',
      'is of a version whose reads hide errors; give it throwOnErrors: true, or take keyv 5.5 or later',
    );
  }
  return keyv;
}

/**
 * Who tells of errors that Keyv keeps to itself: the storage adapter (some catch their own), and the
 * Keyv. Except a Keyv (6) that throws what nobody listens to: it would stop throwing, for the app too.
 */
export function emittersOf(keyv: KeyvLike): ErrorEmitter[] {
  const { store, throwOnEmptyListeners } = keyv as Traits;
  const throwsAnyway = throwOnEmptyListeners === true && keyv.listeners?.('error').length === 0;
  const candidates = throwsAnyway ? [store] : [keyv, store];
  return candidates.filter(isEmitter);
}

function isEmitter(value: unknown): value is ErrorEmitter {
  const emitter = value as KeyvEmitter | null | undefined;
  return typeof emitter?.on === 'function' && typeof emitter.off === 'function';
}
