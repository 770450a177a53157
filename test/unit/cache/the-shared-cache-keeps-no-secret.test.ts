import { expect, it } from 'vitest';
import { hear } from '../../support/hear.js';
import { cachedPurchase, settle } from '../../support/key-api-service.js';
import { CODE, KEY } from '../../support/wire.js';
import { fleet, HOUR, KINDS, MINUTE, moveTimeByHand, OTHER, OTHER_KEY } from './support.js';

// "Names and seals in a shared cache are bound to the address of the service and to the account … Keys there are HMACs and
// values are sealed …: no code is readable there, and nobody who can write there can grant a purchase." (section 2)

moveTimeByHand();

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

it.each<[string, number, (values: string[]) => unknown]>([
  ['exchanged', 0, (values) => values.reverse()],
  ['altered', 0, (values) => values.map((value) => value.replace(/.{5}$/, 'AAAAA'))],
  ['put back again and again for longer than a day', 24 * HOUR + MINUTE, (values) => values],
])('rows that were %s are not believed', async (_how, age, forge) => {
  const { service, shared, clock, joinAndAsk, join } = fleet();
  await (await joinAndAsk()).validatePurchase(OTHER);
  service.later(age, 'negative');
  const values = forge([...shared.rows.values()].map(({ value }) => value)) as string[];
  for (const [n, name] of [...shared.rows.keys()].entries()) {
    shared.rows.set(name, { value: `${values[n]}`, from: clock(), expiresAt: clock() + HOUR });
  }
  for (const code of [CODE, OTHER]) expect(await join().validatePurchase(code)).toBeNull();
});

it('a row that cannot be read is reported, and replaced', async () => {
  const { service, shared, join, joinAndAsk } = fleet();
  await joinAndAsk();
  const drift = hear('drift');
  for (const row of shared.rows.values()) row.value = '1.AAAA';
  for (let n = 0; n < 3; n++) expect(await join().validatePurchase(CODE)).not.toBeNull();
  expect(service.asked('all')).toBe(2);
  const expected = expect.stringContaining('sealed');
  const where = { endpoint: 'shared cache', kind: 'dropped', path: 'value' };
  expect(drift).toEqual([expect.objectContaining({ ...where, expected })]);
});

it.each<[string, object]>([
  ['two accounts', { apiKey: OTHER_KEY }],
  ['two paths of a service', { baseUrl: 'https://market.example/other' }],
])('shops of %s share no answer, and no invalidation', async (_what, options) => {
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

it('a message that nobody of the fleet has sealed makes no process forget', async () => {
  const { shared, joinAndAsk } = fleet();
  const one = await joinAndAsk();
  const [row] = shared.rows.values();
  for (const message of ['', `purchase ${CODE}`, '{"subject":""}', `${row?.value}`]) {
    await shared.publish(message);
  }
  await settle();
  expect(await cachedPurchase(one, CODE)).not.toBeUndefined();
});
