import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MINUTE, shopWith } from './support.js';

/** As plain as a count of guesses can be: a fixed window that the first one begins. */
class Count {
  guesses = 0;
  #endsAt = 0;

  /** @returns how many there are now, with more that are added. */
  at(now: number, more = 0): number {
    if (now >= this.#endsAt) this.guesses = 0;
    if (this.guesses === 0) this.#endsAt = now + MINUTE;
    this.guesses += more;
    return this.guesses;
  }
}

const LIMIT = 3;
const TOTAL = 7;
const ENDS: Record<string, string> = {
  valid: 'valid',
  wrong: 'invalid',
  words: 'service_refused',
};
const burst = fc.record({
  client: fc.constantFrom('anna', 'ben', 'carla', 'dora'),
  kinds: fc.array(fc.constantFrom(...Object.keys(ENDS)), { minLength: 1, maxLength: 9 }),
});
const pause = fc.record({ pause: fc.constantFrom(1, MINUTE / 2, MINUTE - 1, MINUTE) });

it('guesses are counted as by hand, whatever clients ask, alone or in bursts, with any pauses', async () => {
  const visits = fc.array(fc.oneof({ weight: 4, arbitrary: burst }, pause), { maxLength: 30 });
  const property = fc.asyncProperty(visits, async (steps) => {
    const { ask, asked, service } = shopWith({ guessLimit: { limit: LIMIT, total: TOTAL } });
    const all = new Count();
    const clients = new Map<string, Count>();
    for (const step of steps) {
      if ('pause' in step) {
        service.now += step.pause;
        continue;
      }
      const own = clients.get(step.client) ?? new Count();
      clients.set(step.client, own);
      const [before, allBefore] = [own.at(service.now), all.at(service.now)];
      const sent = asked();
      const ends = await Promise.all(step.kinds.map((kind) => ask(kind, step.client)));
      const answered = step.kinds.filter((_, i) => ends[i] !== 'too_many_attempts');
      const guesses = answered.filter((kind) => kind !== 'valid').length;
      const [after, allAfter] = [own.at(service.now, guesses), all.at(service.now, guesses)];
      // Each is answered by the service, or refused without a request.
      expect(ends).toEqual(
        step.kinds.map((kind, i) => (ends[i] === 'too_many_attempts' ? ends[i] : ENDS[kind])),
      );
      expect(asked() - sent).toBe(answered.length);
      // No burst exceeds a limit, but for a client without a guess.
      expect(after).toBeLessThanOrEqual(LIMIT);
      expect(allAfter).toBeLessThanOrEqual(Math.max(TOTAL, allBefore + (before === 0 ? 1 : 0)));
      // Nobody is refused below the limits.
      const isOver = after >= LIMIT || (after > 0 && allAfter >= TOTAL);
      if (!isOver) expect(answered).toEqual(step.kinds);
      // Nobody is answered over them.
      const wasOver = before >= LIMIT || (before > 0 && allBefore >= TOTAL);
      if (wasOver) expect(answered).toEqual([]);
    }
  });
  await fc.assert(property, { numRuns: 40 });
});
