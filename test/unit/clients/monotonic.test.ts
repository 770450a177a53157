import { describe, expect, it, vi } from 'vitest';
import { monotonic } from '../../../src/clients/key-api.js';

describe('a clock that never goes back', () => {
  it('passes as the given clock does, and stands still while that is set back', () => {
    let now = 1000;
    const real = vi.spyOn(performance, 'now').mockReturnValue(0);
    const clock = monotonic(() => now);
    real.mockReturnValue(3_600_000);
    expect(clock()).toBe(1000);
    now += 50;
    expect(clock()).toBe(1050);
    now -= 3_600_000;
    expect(clock()).toBe(1050);
    now += 7;
    expect(clock()).toBe(1057);
  });

  it.each([
    ['half an hour, and read 61 s later', -1_800_000, 61_000],
    ['10 hours, and read 24.5 hours later', -36_000_000, 88_200_000],
  ])('counts what really passed where the clock was set back by %s', (_name, step, passed) => {
    const wall = vi.spyOn(Date, 'now').mockReturnValue(1_800_000_000_000);
    const real = vi.spyOn(performance, 'now').mockReturnValue(5000);
    const clock = monotonic(Date.now);
    const before = clock();
    wall.mockReturnValue(1_800_000_000_000 + step + passed);
    real.mockReturnValue(5000 + passed);
    expect(clock() - before).toBe(passed);
  });

  it.each([
    ['the time that a machine slept, which the process does not measure', 3_600_000, 0],
    ['what the system says where the timer of the process is a second ahead', 2000, 3000],
  ])('counts %s', (_name, passed, measured) => {
    const wall = vi.spyOn(Date, 'now').mockReturnValue(1_800_000_000_000);
    const real = vi.spyOn(performance, 'now').mockReturnValue(5000);
    const clock = monotonic(Date.now);
    wall.mockReturnValue(1_800_000_000_000 + passed);
    real.mockReturnValue(5000 + measured);
    expect(clock()).toBe(1_800_000_000_000 + passed);
  });
});
