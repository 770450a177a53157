/** What a client does with a command. */
export type RedisState =
  /** It sends the command at once. */
  | 'ready'
  /** It queues the command until it is connected. */
  | 'waiting'
  /** It was never opened, or is closed for good. */
  | 'closed';

/**
 * The commands that the stores use, for every kind of client. Each has one key, because a cluster can have
 * keys on different servers. Replies are those of Redis.
 */
export interface RedisCommands {
  readonly state: RedisState;
  /** Calls the listener once, when the state can have changed to `ready`. Opens a client that waits to be used. */
  onceReady(listener: () => void): void;
  get(key: string): Promise<unknown>;
  set(key: string, value: string, milliseconds: number): Promise<unknown>;
  /** Replies `OK`, or `null` when the key is there already. */
  setIfAbsent(key: string, value: string, milliseconds: number): Promise<unknown>;
  delete(key: string): Promise<unknown>;
  /** Runs a Lua script on one key. */
  run(script: string, key: string, args: readonly string[]): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
  /** A separate connection, not yet open, because one that subscribes can do nothing else. */
  listener(onMessage: (message: string) => void, onLost: () => void): Promise<RedisListener>;
}

/**
 * One connection to one server. It does not reconnect by itself, because its owner must know that messages
 * can have been missed.
 */
export interface RedisListener {
  /** Connects and subscribes. */
  open(channel: string): Promise<unknown>;
  /** Settles when the server has answered. */
  ping(): Promise<unknown>;
  /** Ends the connection in any state. Never throws. */
  close(): void;
}

/** Methods of the clients of all libraries. */
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

/** An object with these methods and others, whatever their overloads. */
export type Methods<Other extends string> = {
  readonly [name in (typeof COMMON_METHODS)[number] | Other]: (...args: never[]) => unknown;
};
