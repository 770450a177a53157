import { MarketgateError } from 'marketgate';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { KeyCheck } from '../../../src/key-api/key-check.js';

const rejected = new MarketgateError('api_key_rejected', 'unknown key');
const MINUTE = 60_000;

/** A check whose answers the test gives. */
function checkOf() {
  const asked: string[] = [];
  const state = {
    now: 1_000_000,
    says: async (): Promise<unknown> => ({ username: 'ada' }),
  };
  const check = new KeyCheck(
    () => state.now,
    (key) => {
      asked.push(key);
      return state.says();
    },
  );
  return Object.assign(state, { asked, check });
}

describe('the word of the service about a key', () => {
  it('is believed for five minutes after it came, to the millisecond', async () => {
    const self = checkOf();
    self.says = async () => {
      self.now += 1000;
    };
    expect(await self.check.confirm('a')).toBeUndefined();
    self.now += 5 * MINUTE - 1;
    await self.check.confirm('a');
    expect(self.asked).toHaveLength(1);
    self.now += 1;
    await self.check.confirm('a');
    expect(self.asked).toHaveLength(2);
  });

  it('that it does not know it is believed for one', async () => {
    const self = checkOf();
    self.says = () => Promise.reject(rejected);
    await expect(self.check.confirm('a')).rejects.toBe(rejected);
    self.now += MINUTE - 1;
    await expect(self.check.confirm('a')).rejects.toBe(rejected);
    expect(self.asked).toHaveLength(1);
    self.now += 1;
    await expect(self.check.confirm('a')).rejects.toBe(rejected);
    expect(self.asked).toHaveLength(2);
  });

  it.each([
    ['an outage', new MarketgateError('service_unavailable', 'down')],
    ['a mistake that looks like a rejection', Object.assign(new Error(), { code: rejected.code })],
  ])('is not there after %s: it is asked anew', async (_name, error) => {
    const self = checkOf();
    self.says = () => Promise.reject(error);
    await expect(self.check.confirm('a')).rejects.toBe(error);
    await expect(self.check.confirm('a')).rejects.toBe(error);
    expect(self.asked).toHaveLength(2);
  });

  it('counts for one key, the last', async () => {
    const self = checkOf();
    for (const key of ['a', 'b', 'b', 'a']) await self.check.confirm(key);
    expect(self.asked).toEqual(['a', 'b', 'a']);
  });

  it('is waited for together, however long it takes, and also where it matters', async () => {
    const self = checkOf();
    let end: (value: unknown) => void = () => {};
    const said = new Promise((resolve) => {
      end = resolve;
    });
    self.says = () => said;
    const all = [self.check.confirm('a'), self.check.confirm('a', true)];
    self.now += 4999;
    all.push(self.check.confirm('a', true));
    self.now += 20 * MINUTE;
    all.push(self.check.confirm('a'));
    end({});
    await Promise.all(all);
    expect(self.asked).toHaveLength(1);
  });

  it('must be of the last five seconds where a customer would lose something', async () => {
    const self = checkOf();
    await self.check.confirm('a');
    self.now += 4999;
    await self.check.confirm('a', true);
    expect(self.asked).toHaveLength(1);
    self.now += 1;
    await self.check.confirm('a');
    expect(self.asked).toHaveLength(1);
    await self.check.confirm('a', true);
    expect(self.asked).toHaveLength(2);
  });
});

describe('what somebody else was told', () => {
  it('counts as long as what was asked for here', async () => {
    const self = checkOf();
    self.check.note('a');
    self.now += 5 * MINUTE - 1;
    await self.check.confirm('a');
    expect(self.asked).toEqual([]);
    self.now += 1;
    await self.check.confirm('a');
    expect(self.asked).toEqual(['a']);
    self.check.note('a', rejected);
    self.now += MINUTE - 1;
    await expect(self.check.confirm('a')).rejects.toBe(rejected);
    self.now += 1;
    await self.check.confirm('a');
    expect(self.asked).toHaveLength(2);
  });

  it('is of that moment: a grave no needs none that is older', async () => {
    const self = checkOf();
    self.check.note('a');
    self.now += 4999;
    await self.check.confirm('a', true);
    expect(self.asked).toEqual([]);
    self.now += 1;
    await self.check.confirm('a', true);
    expect(self.asked).toEqual(['a']);
  });

  it('is nobody’s unhandled rejection when nobody ever asks', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    checkOf().check.note('a', rejected);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(unhandled).not.toHaveBeenCalled();
  });
});
