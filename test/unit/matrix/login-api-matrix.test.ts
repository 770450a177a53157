import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judgeLoginApi } from '../../oracle/login-api.js';
import { LOGIN_ENDPOINTS } from '../../oracle/login-api-rows.js';
import {
  type Belongings,
  LOGIN_API_CASES,
  type LoginApiCase,
  type LoginApiWorld,
  makeBelongings,
  openLoginApiWorld,
} from './cases/login-api-cases.js';
import { type Documented, type Fact, settingsOf } from './facts/fact.js';
import { LOGIN_API_FACTS } from './facts/login-api-facts.js';
import { recorder } from './recorder.js';
import { changed, endingOf } from './support.js';

const { specified, pairs, count } = settingsOf(LOGIN_API_FACTS);

let world: LoginApiWorld;
beforeAll(async () => {
  world = await openLoginApiWorld();
});
afterAll(() => world.close());

/** How a case may end where these facts hold. What happens first, nobody wrote down: any may show. */
function allowedEnds({ name, ends, asksNobody }: LoginApiCase, facts: readonly Fact[]): string[] {
  const end = typeof ends === 'object' || ends === 'token' ? 'positive' : ends;
  if (asksNobody) return [end];
  const outages = facts.flatMap(({ outage }) => outage ?? []);
  if (outages.length > 0) return outages;
  const others = facts.flatMap((fact) => fact.ends?.[name] ?? []);
  return others.length > 0 ? others : [end];
}

/** What is certain of a user's record: a time of day and further fields are anybody's guess. */
function expectUser(cell: string, given: Documented, wanted: Documented): void {
  for (const [name, value] of Object.entries(wanted)) {
    const isOpen = value === 'URL' ? expect.stringMatching(/^https?:/) : undefined;
    const time = /^(.*) TIME$/.exec(String(value))?.[1];
    const atTime = time && expect.stringMatching(new RegExp(`^${time} \\d\\d:\\d\\d:\\d\\d$`));
    expect.soft(given[name], `${cell}: ${name}`).toEqual(isOpen ?? atTime ?? value);
  }
  const documented = Object.keys(given).filter((name) => name.startsWith('user_'));
  const more = documented.filter((name) => !(name in wanted) && !NOT_DOCUMENTED.has(name));
  expect.soft(more, cell).toEqual([]);
}

/** Of the "others" in the notes on further fields, as the sandbox has them. */
const NOT_DOCUMENTED = new Set(['user_work_title', 'user_followers', 'user_is_pro']);

async function tryCase(each: LoginApiCase, facts: readonly Fact[], mine: Belongings) {
  const { dispatcher, answers } = recorder(world.agent);
  const client = (options = {}) => world.client({ dispatcher, ...options });
  const ending = await endingOf(() => each.ask(client, mine));
  expect.soft(allowedEnds(each, facts), each.name).toContain(ending.end);
  // The oracle says so too, of what really came over the wire.
  const endpoint = each.name.startsWith('exchange') ? 'authorize' : 'user';
  const answer = answers.get(LOGIN_ENDPOINTS[endpoint].path);
  if (answer !== undefined) {
    const { ends } = judgeLoginApi(endpoint, answer);
    expect.soft(ends, `${each.name}: the oracle`).toContain(ending.end);
  }
  if (ending.end !== 'positive') return;
  if (typeof each.ends === 'object') {
    const wanted = changed(world.documented[each.ends.user], ['user'], facts);
    expectUser(each.name, ending.value as Documented, wanted);
  } else if (each.name.startsWith('exchange')) {
    const now = world.sandbox.clock();
    expect.soft(ending.value, each.name).toEqual({
      value: expect.stringMatching(/./),
      issuedAt: now,
      expiresAt: now + 3_600_000,
    });
  }
}

/** Sets the switches, but first makes what was there before an outage began. */
async function tryAll(_name: string, facts: Fact[]): Promise<void> {
  const on = ({ name, value }: Fact) => [name, value];
  const { dialect } = world.sandbox;
  const lasting = facts.filter(({ outage, hides }) => outage === undefined && hides !== true);
  Object.assign(dialect, { htmlOutage: false, warnings: false, vanishedUser: false });
  Object.assign(dialect, Object.fromEntries(lasting.map(on)), { nulls: false, warnings: false });
  const mine = await makeBelongings(world);
  Object.assign(dialect, Object.fromEntries(facts.map(on)));
  expect.soft(world.client().loginUrl()).toBe(world.url);
  await Promise.all(LOGIN_API_CASES.map((each) => tryCase(each, facts, mine)));
}

describe('the login API with every pair of switches', () => {
  it.each(specified)('%s', tryAll);

  it(`${count.pairs} pairs are shown by ${pairs.length} settings`, () => {
    expect(count.shown).toBe(count.pairs);
    expect(pairs.length).toBeLessThan(50);
  });

  it.each(pairs)('%s', tryAll);
});

describe('a token that is given out again', () => {
  it.each([false, true])('tokenReuse: %s', async (tokenReuse) => {
    Object.assign(world.sandbox.dialect, {
      ...Object.fromEntries(LOGIN_API_FACTS.toReversed().map(({ name, value }) => [name, value])),
      tokenReuse,
    });
    const { living, keyAgain } = await makeBelongings(world);
    const { value } = await world.client().exchange(keyAgain);
    expect(value === living).toBe(tokenReuse);
  });
});
