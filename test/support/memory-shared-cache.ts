import type { SharedCache } from 'marketgate';

/** A shared cache in memory, to stand for Redis where its behaviour is not the point. */
export class MemorySharedCache implements SharedCache {
  readonly values = new Map<string, string>();
  readonly locks = new Set<string>();
  readonly calls: string[] = [];
  readonly messages: (string | undefined)[] = [];
  readonly #listeners = new Set<(key: string | undefined) => void>();

  async get(key: string): Promise<string | undefined> {
    this.calls.push('get');
    return this.values.get(key);
  }

  async set(key: string, value: string): Promise<void> {
    this.calls.push('set');
    this.values.set(key, value);
  }

  async delete(key: string): Promise<void> {
    this.calls.push('delete');
    this.values.delete(key);
  }

  async lock(key: string): Promise<(() => Promise<void>) | undefined> {
    this.calls.push('lock');
    if (this.locks.has(key)) return undefined;
    this.locks.add(key);
    return async () => void this.locks.delete(key);
  }

  async subscribe(listener: (key: string | undefined) => void): Promise<() => Promise<void>> {
    this.#listeners.add(listener);
    return async () => void this.#listeners.delete(listener);
  }

  async publish(key: string | undefined): Promise<void> {
    this.messages.push(key);
    for (const listener of this.#listeners) listener(key);
  }

  get listeners(): number {
    return this.#listeners.size;
  }
}
