import { describe, expect, it } from 'vitest';
import { hear } from '../../support/hear.js';
import { cachedPurchase, settle } from '../../support/key-api-service.js';
import { CODE, KEY } from '../../support/wire.js';
import { fleet, HOUR, KINDS, MINUTE, moveTimeByHand, OTHER, OTHER_KEY } from './support.js';

// "Names and seals in a shared cache are bound to the address of the service and to the account … Keys there are HMACs and
// values are sealed …: no code is readable there, and nobody who can write there can grant a purchase." (section 2)

moveTimeByHand();

type Shared = ReturnType<typeof fleet>['shared'];

/** The row of a code that one process has asked for. */
async function withRow() {
  const given = fleet();
  const holder = await given.joinAndAsk();
  const [[name, row]] = [...given.shared.rows] as [
    [string, { value: string; from: number; expiresAt: number }],
  ];
  return { ...given, holder, name, row };
}

it('no code, key or field is readable in rows and messages', async () => {
  const { shared, join, refund } = fleet();
  const one = join();
  for (const [, ask] of KINDS) await ask(one);
  await refund(one);
  await one.invalidate();
  await one.invalidate(OTHER);
  const written = JSON.stringify([[...shared.rows], shared.messages]);
  for (const text of [CODE, OTHER, KEY, 'adanorth', 'Regular', 'purchase', 'all"']) {
    expect(written).not.toContain(text);
  }
  for (const name of shared.rows.keys()) expect(name).toMatch(/^[\w-]{43}$/);
});

describe('a row is believed only as it was written', () => {
  it.each<[string, (given: Awaited<ReturnType<typeof withRow>>) => unknown]>([
    [
      'moved to another code',
      async ({ shared, join, name, row }) => {
        await join().validatePurchase(OTHER);
        for (const other of shared.rows.keys()) shared.rows.set(other, row);
        shared.rows.delete(name);
      },
    ],
    [
      'altered',
      ({ shared, name, row }) =>
        shared.rows.set(name, {
          ...row,
          value: row.value.replace(/.{5}$/, (end) => (end === 'AAAAA' ? 'BBBBB' : 'AAAAA')),
        }),
    ],
    [
      'of another version',
      ({ shared, name, row }) => shared.rows.set(name, { ...row, value: `2${row.value.slice(1)}` }),
    ],
    [
      'put back again and again for longer than a day',
      ({ service, shared, clock, name, row }) => {
        service.later(24 * HOUR + MINUTE);
        shared.rows.set(name, { ...row, from: clock(), expiresAt: clock() + HOUR });
      },
    ],
  ])('not %s', async (_name, forge) => {
    const given = await withRow();
    await forge(given);
    given.service.says = 'negative';
    for (const code of [CODE, OTHER]) {
      expect(await given.join().validatePurchase(code)).toBeNull();
    }
  });

  it('one that cannot be read is reported, and replaced', async () => {
    const { service, shared, join, name, row } = await withRow();
    const drift = hear('drift');
    shared.rows.set(name, { ...row, value: '1.AAAA' });
    for (let n = 0; n < 3; n++) expect(await join().validatePurchase(CODE)).not.toBeNull();
    expect(service.asked('all')).toBe(2);
    expect(drift).toEqual([
      {
        endpoint: 'shared cache',
        kind: 'dropped',
        path: 'value',
        expected: 'a value sealed by this fleet, of this version',
      },
    ]);
  });
});

describe('two shops with one shared cache', () => {
  /** Processes of two shops. */
  const SHOPS: [string, object][] = [
    ['of two accounts', { apiKey: OTHER_KEY }],
    ['of two services', { baseUrl: 'https://other.example' }],
    ['of two paths', { baseUrl: 'https://market.example/other' }],
  ];

  it.each(SHOPS)('%s share no answer, and no invalidation', async (_name, options) => {
    const { service, shared, join, joinAndAsk } = fleet();
    const mine = await joinAndAsk();
    const theirs = await joinAndAsk({}, options);
    expect(service.asked('all')).toBe(2);
    const held = await cachedPurchase(mine, CODE);
    await theirs.invalidate(CODE);
    await theirs.invalidate();
    // No message of theirs counts as one that was missed.
    expect(await cachedPurchase(mine, CODE)).toBe(held);
    expect(shared.messages).toHaveLength(2);
    expect(await join().validatePurchase(CODE)).toEqual(held);
    expect(service.asked('all')).toBe(2);
  });

  it.each<[string, (shared: Shared) => string[]]>([
    ['empty, in clear or forged', () => ['', `purchase ${CODE}`, '1.AAAA', '{"subject":""}']],
    ['a sealed row', ({ rows }) => [...rows.values()].map(({ value }) => value)],
  ])('a message of neither makes nobody forget: %s', async (_name, messages) => {
    const { shared, joinAndAsk } = fleet();
    const one = await joinAndAsk();
    for (const message of messages(shared)) await shared.publish(message);
    await settle();
    expect(await cachedPurchase(one, CODE)).not.toBeUndefined();
  });
});
