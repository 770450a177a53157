import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { judgeKeyApi } from '../../oracle/key-api.js';
import { KEY_ENDPOINTS, type KeyEndpoint } from '../../oracle/key-api-rows.js';
import {
  KEY_API_CASES,
  type KeyApiCase,
  type KeyApiWorld,
  openKeyApiWorld,
} from './cases/key-api-cases.js';
import { type Documented, type Fact, settingsOf } from './facts/fact.js';
import { KEY_API_FACTS } from './facts/key-api-facts.js';
import { recorder } from './recorder.js';
import { changed, comparable, endingOf } from './support.js';

const { specified, pairs, count } = settingsOf(KEY_API_FACTS);

let world: KeyApiWorld;
beforeAll(async () => {
  world = await openKeyApiWorld();
});
afterAll(() => world.close());

// Another minute for the limit of requests a minute.
beforeEach(() => world.sandbox.clock.advance(60_000));

/** Sets the sandbox's switches. What is no switch of the sandbox is an option of the client. */
function speak(facts: readonly Fact[]): void {
  const dialect = facts
    .filter(({ name }) => name in world.sandbox.dialect)
    .map(({ name, value, setting = value }) => [name, setting]);
  Object.assign(world.sandbox.dialect, Object.fromEntries(dialect));
}

/** How a case may end where these facts hold. Of two outages at once, either may show. */
function allowedEnds({ name, ends }: KeyApiCase, facts: readonly Fact[]): string[] {
  if (ends === 'TypeError') return [ends];
  const outages = facts.flatMap(({ outage }) => outage ?? []);
  if (outages.length > 0) return outages;
  const [other] = facts.flatMap((fact) => fact.ends?.[name] ?? []);
  const end = other ?? (typeof ends === 'object' ? 'positive' : ends);
  if (end === 'positive') return [end];
  const hidden = new Set(facts.map(({ hidesNoIn }) => hidesNoIn));
  // Another `msg`, and no status that says no: the service refused, and that is all that is known.
  return hidden.has('words') && hidden.has('status') ? ['service_refused'] : [end];
}

/** What a case asks for, by the method that its name begins with. */
const ENDPOINTS = { getAccount: 'account', listItems: 'items', getItem: 'item' } as const;
const endpointOf = ({ name }: KeyApiCase): KeyEndpoint =>
  ENDPOINTS[name.replace(/,.*/, '') as keyof typeof ENDPOINTS] ?? 'purchase';

async function tryCase(each: KeyApiCase, facts: readonly Fact[]): Promise<void> {
  const encoding = facts.find(({ name }) => name === 'validationEncoding')?.value;
  const { dispatcher, answers } = recorder(world.agent);
  const client = world.client(each.key, {
    validationEncoding: encoding as 'form',
    dispatcher,
  });
  const ending = await endingOf(() => each.ask(client, world));
  await client.close();
  expect.soft(allowedEnds(each, facts), each.name).toContain(ending.end);
  // The oracle says so too, of what really came over the wire.
  const endpoint = endpointOf(each);
  const answer = answers.get(KEY_ENDPOINTS[endpoint].path);
  if (answer !== undefined) {
    const { ends } = judgeKeyApi(endpoint, answer);
    // With a wrong api_key the service says no to everything, and the check of the key is what counts.
    const isKeyRejected = ending.end === 'api_key_rejected' && ends.includes('negative');
    if (!isKeyRejected) expect.soft(ends, `${each.name}: the oracle`).toContain(ending.end);
  }
  if (ending.end === 'positive' && typeof each.ends === 'object') {
    const { documented, kinds } = each.ends;
    const record = world.documented[documented] as Documented | Documented[];
    const wanted = Array.isArray(record)
      ? record.map((item) => changed(item, kinds, facts))
      : changed(record, kinds, facts);
    expect.soft(comparable(ending.value), each.name).toEqual(comparable(wanted));
  }
  const limited = facts.some(({ name, value }) => name === 'rateLimit' && value === 'over');
  const outages = facts.filter(({ outage }) => outage !== undefined);
  if (limited && outages.length === 1 && each.ends !== 'TypeError') {
    expect.soft(ending, each.name).toMatchObject({ retryAfter: expect.any(Number) });
  }
}

const tryAll = async (_name: string, facts: Fact[]): Promise<void> => {
  speak(facts);
  await Promise.all(KEY_API_CASES.map((each) => tryCase(each, facts)));
};

describe('the key API with every pair of switches', () => {
  it.each(specified)('%s', tryAll);

  it(`${count.pairs} pairs are shown by ${pairs.length} settings`, () => {
    expect(count.shown).toBe(count.pairs);
    expect(pairs.length).toBeLessThan(70);
  });

  it.each(pairs)('%s', tryAll);
});
