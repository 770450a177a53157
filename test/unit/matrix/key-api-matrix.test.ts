import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  type Documented,
  KEY_API_CASES,
  type KeyApiCase,
  type KeyApiWorld,
  openKeyApiWorld,
  SUPPORT_OVER,
} from './cases/key-api-cases.js';
import { comparable, endingOf } from './endings.js';
import { isOutage, KEY_API_SWITCHES, type Setting, settingsOf, turn } from './settings.js';

let world: KeyApiWorld;
beforeAll(async () => {
  world = await openKeyApiWorld();
});
afterAll(() => world.close());

// Another minute for the limit of requests a minute.
beforeEach(() => world.sandbox.clock.advance(60_000));

function without(record: unknown, ...names: string[]): Documented {
  const entries = Object.entries(record as Documented).filter(([name]) => !names.includes(name));
  return Object.fromEntries(entries);
}

/** The caller finds fields absent that are null on some deployments; licences have labels of the language. */
function asRead(name: string, record: Documented, setting: Setting): Documented {
  const { nulls, localised, supportedUntilPast } = setting;
  const item = (sent: unknown): Documented =>
    nulls ? without(sent, 'options', 'version', 'demo_link', 'sub_category') : (sent as Documented);
  if ('price' in record && !('purchase_code' in record)) return item(record);
  if ('username' in record) {
    const profile = without(record.profile, 'heading', 'description', 'social_links');
    const links = name === 'otherAccount' && { social_links: {} };
    return nulls ? { ...record, profile: { ...profile, contact: {}, ...links } } : record;
  }
  const label = { tr: 'Normal', de: 'Standard' }[String(localised)];
  return {
    ...{ ...record, item: item(record.item) },
    ...(label && { license_type: label }),
    ...(name === 'supportOver' && supportedUntilPast && { supported_until: SUPPORT_OVER }),
  };
}

/** Asks, and compares the end with that of the service as specified, where the setting has an answer at all. */
async function tryCase(each: KeyApiCase, setting: Setting): Promise<void> {
  const { name } = each;
  const validationEncoding = setting.validationEncoding as 'form';
  const client = world.client(each.key, { validationEncoding });
  const ending = await endingOf(() => each.ask(client, world));
  await client.close();
  const isAnswered = !Object.entries(setting).some(isOutage);
  if (!isAnswered && ending.end !== 'TypeError') {
    // What keeps us from finding out is never a negative answer.
    expect.soft(['negative', 'api_key_rejected'], name).not.toContain(ending.end);
  }
  if (typeof each.ends === 'string') {
    // In other words it is a negative answer with HTTP 404 only.
    const ends = setting.localised ? [each.ends, 'service_refused'] : [each.ends];
    if (isAnswered) expect.soft(ends, name).toContain(ending.end);
    return;
  }
  // A list of one that the service hides is none.
  const isHidden = setting.singleItemBug && each.ends.documented === 'oneItem';
  if (isAnswered && !isHidden) expect.soft(ending.end, name).toBe('positive');
  if (ending.end !== 'positive') return;
  const { documented } = each.ends;
  const record: Documented | Documented[] = world.documented[documented];
  const wanted = Array.isArray(record)
    ? record.map((item) => asRead(documented, item, setting))
    : asRead(documented, record, setting);
  expect.soft(comparable(ending.value), name).toEqual(comparable(wanted));
}

it.each(settingsOf(KEY_API_SWITCHES, 'localised'))('key API with %s', async (_name, setting) => {
  turn(world.sandbox.dialect, setting);
  await Promise.all(KEY_API_CASES.map((each) => tryCase(each, setting)));
});
