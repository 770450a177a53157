/**
 * The sandbox's time. Callable, so that it can be given to a client as its `clock`: both then age tokens
 * and support dates together.
 */
export interface SandboxClock {
  /** The sandbox's time, in epoch milliseconds. */
  (): number;
  /** The same as calling the clock. */
  now(): number;
  /** Moves the clock by `ms` milliseconds: `advance(3_600_000)` ends every access_token. */
  advance(ms: number): void;
  /** Moves the clock to `ms`, in epoch milliseconds. It keeps running from there. */
  set(ms: number): void;
  /** Takes back every `advance` and `set`. */
  reset(): void;
}

/** Makes a {@link SandboxClock} that shows `base` plus an offset. */
export function createClock(base: () => number): SandboxClock {
  let offset = 0;
  const now = () => base() + offset;
  const move = (to: number, method: string) => {
    if (Number.isNaN(new Date(base() + to).getTime())) {
      throw new TypeError(`clock.${method}: expected milliseconds within the range of dates`);
    }
    offset = to;
  };
  return Object.assign(() => now(), {
    now,
    advance: (ms: number) => move(offset + ms, 'advance'),
    set: (ms: number) => move(offset + ms - now(), 'set'),
    reset: () => move(0, 'reset'),
  });
}

/** In milliseconds. */
export const DAY = 86_400_000;

/** The units of a duration, in milliseconds. */
export const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: DAY };

/** The milliseconds of `300ms`, `90s`, `1.5h` or `-30d`; `undefined` for any other text. */
export function readDuration(text: string): number | undefined {
  const [, count, unit] = /^\s*(-?\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*$/.exec(text) ?? [];
  return unit ? Number(count) * UNITS[unit as keyof typeof UNITS] : undefined;
}

/** Epoch milliseconds as the service writes timestamps: ISO 8601, UTC, whole seconds. */
export const timestamp = (ms: number): string =>
  new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');
