import { createSandbox } from 'marketgate/sandbox';
import { describe, expect, it } from 'vitest';
import { KEY_API_FACTS } from './facts/key-api-facts.js';
import { LOGIN_API_FACTS } from './facts/login-api-facts.js';

/** Not a switch of the service, but what it reads: an option of the client. */
const OPTIONS = new Set(['validationEncoding']);

const namesOf = (facts: readonly { name: string }[]): string[] =>
  [...new Set(facts.map(({ name }) => name))].filter((name) => !OPTIONS.has(name));

describe('what is known of deployments', () => {
  it('a fact is written down for each switch of the sandbox, and for nothing else', () => {
    const names = new Set([...namesOf(KEY_API_FACTS), ...namesOf(LOGIN_API_FACTS)]);
    expect([...names].sort()).toEqual(Object.keys(createSandbox().dialect).sort());
  });

  it.each([
    ['key API', KEY_API_FACTS],
    ['login API', LOGIN_API_FACTS],
  ])('%s: the sandbox stands where nothing is switched', (_name, facts) => {
    const { dialect } = createSandbox();
    for (const name of namesOf(facts)) {
      const first = facts.find((fact) => fact.name === name);
      expect(dialect).toHaveProperty(name, first?.setting ?? first?.value);
    }
  });

  it.each([
    ['key API', KEY_API_FACTS],
    ['login API', LOGIN_API_FACTS],
  ])('%s: the sandbox takes every value', (_name, facts) => {
    const { dialect } = createSandbox();
    for (const { name, value, setting = value } of facts) {
      if (OPTIONS.has(name)) continue;
      Object.assign(dialect, { [name]: setting });
      expect(dialect).toHaveProperty(name, setting);
    }
  });
});
