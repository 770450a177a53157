import { Redis } from 'ioredis';
import type { RedisServer } from '../../../support/redis-server.js';

/** Takes down everything that a Redis is told, and everything that lies in it. */
export class RedisSpy {
  readonly #client: Redis;
  readonly #monitor: Redis;
  readonly #listener: Redis;
  readonly #seen: string[] = [];
  /** Messages on any channel. */
  readonly messages: string[] = [];

  private constructor(client: Redis, monitor: Redis, listener: Redis) {
    this.#client = client;
    this.#monitor = monitor;
    this.#listener = listener;
    monitor.on('monitor', (_time: string, words: string[]) => void this.#seen.push(...words));
    listener.on('pmessage', (_pattern: string, channel: string, message: string) => {
      this.messages.push(channel, message);
    });
  }

  static async start({ port }: RedisServer): Promise<RedisSpy> {
    const client = new Redis(port, '127.0.0.1');
    const listener = client.duplicate();
    await listener.psubscribe('*');
    return new RedisSpy(client, await client.monitor(), listener);
  }

  /** Every word of every command, every message, every key and every value. */
  async everything(): Promise<string[]> {
    const lying: string[] = [];
    for await (const keys of this.#client.scanStream({ count: 500 })) {
      for (const key of keys as string[]) lying.push(key, ...(await this.#valuesOf(key)));
    }
    return [...this.#seen, ...this.messages, ...lying];
  }

  close(): void {
    for (const each of [this.#client, this.#monitor, this.#listener]) each.disconnect();
  }

  async #valuesOf(key: string): Promise<string[]> {
    const client = this.#client;
    switch (await client.type(key)) {
      case 'string':
        return [(await client.get(key)) ?? ''];
      case 'hash':
        return Object.entries(await client.hgetall(key)).flat();
      case 'set':
        return client.smembers(key);
      case 'zset':
        return client.zrange(key, '0', '-1');
      case 'list':
        return client.lrange(key, 0, -1);
      case 'stream':
        return (await client.xrange(key, '-', '+')).flat(2);
      default:
        return [];
    }
  }
}

/**
 * The secrets that can be read in a text: as they are, in base64 at any offset, in hex, or after
 * decoding what looks like one of these.
 */
export function legible(secrets: readonly string[], texts: readonly string[]): string[] {
  const haystack = texts.join('\n');
  const decoded = [
    ...[...haystack.matchAll(/[\w+/-]{12,}/g)].flatMap(([run]) =>
      [0, 1, 2, 3].map((n) => Buffer.from(run.slice(n), 'base64').toString('latin1')),
    ),
    ...[...haystack.matchAll(/[0-9a-f]{12,}/gi)].flatMap(([run]) =>
      [0, 1].map((n) => Buffer.from(run.slice(n), 'hex').toString('latin1')),
    ),
  ].join('\n');
  const lower = haystack.toLowerCase();
  return secrets.filter(
    (secret) =>
      lower.includes(secret.toLowerCase()) ||
      lower.includes(Buffer.from(secret).toString('hex')) ||
      decoded.includes(secret) ||
      inBase64(secret).some((form) => haystack.includes(form)),
  );
}

/** The middle of its base64, for each of the three ways in which the bytes before it can end. */
const inBase64 = (secret: string): string[] =>
  [0, 1, 2].flatMap((before) =>
    (['base64', 'base64url'] as const).map((encoding) =>
      Buffer.from('?'.repeat(before) + secret)
        .toString(encoding)
        .slice(4, -4),
    ),
  );
