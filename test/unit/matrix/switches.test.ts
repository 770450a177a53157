import { createSandbox } from 'marketgate/sandbox';
import { describe, expect, it } from 'vitest';
import { KEY_API_FACTS } from './facts/key-api-facts.js';
import { LOGIN_API_FACTS } from './facts/login-api-facts.js';

/** The switches that the notes about deployments name, and the values they name. */
const NOTED = {
  keyApi: [
    'apiDisabled',
    'browserRedirect',
    'capitalisation',
    'crash',
    'errorStatus',
    'localised',
    'microseconds',
    'nulls',
    'numericStrings',
    'rateLimit',
    'screenshotsAsObject',
    'singleItemBug',
    'supportedUntilPast',
    'tagsAsString',
    'trimming',
    'validationEnvelope',
  ],
  loginApi: [
    'authorizeMethod',
    'datetimes',
    'errors',
    'extraFields',
    'htmlOutage',
    'nulls',
    'relativePictures',
    'tokenMinutes',
    'tokenReuse',
    'vanishedUser',
    'warnings',
  ],
};

/** Not a switch of the service, but what it reads: an option of the client. */
const OPTIONS = new Set(['validationEncoding']);

const namesOf = (facts: readonly { name: string }[]): string[] =>
  [...new Set(facts.map(({ name }) => name))].filter((name) => !OPTIONS.has(name)).sort();

describe('what is known of deployments', () => {
  it('each is a switch of the sandbox, and there is no other', () => {
    const switches = Object.keys(createSandbox().dialect);
    expect(switches.sort()).toEqual([...new Set([...NOTED.keyApi, ...NOTED.loginApi])].sort());
  });

  it('a fact is written down for each', () => {
    expect(namesOf(KEY_API_FACTS)).toEqual(NOTED.keyApi);
    expect(namesOf(LOGIN_API_FACTS)).toEqual(NOTED.loginApi);
  });

  it.each([
    ['key API', KEY_API_FACTS],
    ['login API', LOGIN_API_FACTS],
  ])('%s: the sandbox stands where nothing is switched', (_name, facts) => {
    const { dialect } = createSandbox();
    for (const name of namesOf(facts)) {
      const first = facts.find((fact) => fact.name === name)?.value;
      expect(dialect).toHaveProperty(name, first === 'none' ? false : first);
    }
  });

  it.each([
    ['key API', KEY_API_FACTS],
    ['login API', LOGIN_API_FACTS],
  ])('%s: the sandbox takes every value', (_name, facts) => {
    const { dialect } = createSandbox();
    for (const { name, value, setting } of facts) {
      if (OPTIONS.has(name)) continue;
      const position = setting ?? (value === 'none' ? false : value);
      Object.assign(dialect, { [name]: position });
      expect(dialect).toHaveProperty(name, position);
    }
  });
});
