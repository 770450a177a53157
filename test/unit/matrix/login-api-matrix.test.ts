import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Documented } from './cases/key-api-cases.js';
import {
  type Belongings,
  LOGIN_API_CASES,
  type LoginApiCase,
  type LoginApiWorld,
  makeBelongings,
  openLoginApiWorld,
} from './cases/login-api-cases.js';
import { endingOf } from './endings.js';
import { isOutage, LOGIN_API_SWITCHES, type Setting, settingsOf, turn } from './settings.js';

let world: LoginApiWorld;
beforeAll(async () => {
  world = await openLoginApiWorld();
});
afterAll(() => world.close());

/** A URL without its origin and first slash. */
const relative = (url: unknown): string => new URL(String(url)).pathname.slice(1);
const ALWAYS_THERE = ['user_id', 'user_name', 'user_email'];

/** A user's record as these switches have it. */
function asRead(user: Documented, setting: Setting): Documented {
  const all: Documented = {
    ...user,
    ...(setting.datetimes && { user_registered: `${user.user_registered} TIME` }),
    ...(setting.relativePictures && {
      user_picture: relative(user.user_picture),
      user_cover: relative(user.user_cover),
    }),
    ...(setting.extraFields && { profile_picture: 'URL', profile_cover: 'URL' }),
  };
  const isThere = ([name]: [string, unknown]) =>
    !setting.nulls || !name.startsWith('user_') || ALWAYS_THERE.includes(name);
  return Object.fromEntries(Object.entries(all).filter(isThere));
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

/** Asks, and compares the end with that of the service as specified, where the setting has an answer at all. */
async function tryCase(each: LoginApiCase, setting: Setting, mine: Belongings): Promise<void> {
  const ending = await endingOf(() => each.ask(world.client, mine));
  const isPositive = typeof each.ends === 'object' || each.ends === 'token';
  const isTooOld = setting.tokenMinutes === 1 && each.name.includes('half an hour');
  if (!Object.entries(setting).some(isOutage)) {
    const end = isTooOld ? 'access_token_expired' : isPositive ? 'positive' : each.ends;
    expect.soft(ending.end, each.name).toBe(end);
  } else if (setting.htmlOutage && !each.asksNobody) {
    // What keeps us from finding out says nothing about a key or a token.
    const errors = ['service_unavailable', 'unexpected_response', 'positive'];
    expect.soft(errors, each.name).toContain(ending.end);
  }
  if (ending.end !== 'positive') return;
  if (typeof each.ends === 'object') {
    const wanted = asRead(world.documented[each.ends.user], setting);
    expectUser(each.name, ending.value as Documented, wanted);
  } else if (each.name.startsWith('exchange')) {
    const now = world.sandbox.clock();
    expect
      .soft(ending.value, each.name)
      .toEqual({ value: expect.stringMatching(/./), issuedAt: now, expiresAt: now + 3_600_000 });
  }
}

it.each(settingsOf(LOGIN_API_SWITCHES, 'nulls'))('login API with %s', async (_name, setting) => {
  // First what was there before an outage began.
  const before = { htmlOutage: false, warnings: false, vanishedUser: false, nulls: false };
  turn(world.sandbox.dialect, { ...setting, ...before });
  const mine = await makeBelongings(world);
  turn(world.sandbox.dialect, setting);
  expect.soft(world.client().loginUrl()).toBe(world.url);
  await Promise.all(LOGIN_API_CASES.map((each) => tryCase(each, setting, mine)));
});
