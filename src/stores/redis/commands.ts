/** Whether a command would go out at once. */
export type RedisState =
  /** It would. */
  | 'ready'
  /** It would wait in the client's own queue, for as long as it takes. */
  | 'waiting'
  /** The client was never opened, or is closed for good. */
  | 'closed';

/**
 * The few commands that are used, the same for every kind of client. Each is about one key only, or it
 * could not run on a cluster. Replies are as Redis gives them.
 */
export interface RedisCommands {
  readonly state: RedisState;
  /** Opens a client that opens itself only with its first command. */
  wake(): void;
  /** Calls the listener once, when the state can have become `ready`. */
  onceReady(listener: () => void): void;
  get(key: string): Promise<unknown>;
  set(key: string, value: string, milliseconds: number): Promise<unknown>;
  /** Replies `OK`, or `null` when the key is there already. */
  setIfAbsent(key: string, value: string, milliseconds: number): Promise<unknown>;
  delete(key: string): Promise<unknown>;
  /** Runs a Lua script on one key. */
  run(script: string, key: string, args: readonly string[]): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
  /** A separate connection to listen with, not yet open: one that subscribes can do nothing else. */
  listener(onMessage: (message: string) => void, onLost: () => void): Promise<RedisListener>;
}

/**
 * One connection to one server, that does not reconnect by itself: what was published while it was away
 * must be known to have been missed.
 */
export interface RedisListener {
  /** Connects and subscribes. */
  open(channel: string): Promise<unknown>;
  /** Settles when the server has answered. */
  ping(): Promise<unknown>;
  /** Ends it, in whatever state it is. Never throws. */
  close(): void;
}

/** What clients of all libraries have. */
export const COMMON_METHODS = [
  'get',
  'set',
  'del',
  'eval',
  'publish',
  'subscribe',
  'duplicate',
  'connect',
  'on',
] as const;

/** These methods and others. Any method fits, whatever its overloads: only the presence counts. */
export type Methods<Other extends string> = {
  readonly [name in (typeof COMMON_METHODS)[number] | Other]: (...args: never[]) => unknown;
};
