import { createSandbox } from 'marketgate/sandbox';
import { expect, it } from 'vitest';
import { KEY_API_SWITCHES, LOGIN_API_SWITCHES } from './settings.js';

it('the matrix turns each switch of the sandbox, and begins where it stands by itself', () => {
  const { validationEncoding: _ofTheClient, ...switches } = KEY_API_SWITCHES;
  const all = Object.entries({ ...switches, ...LOGIN_API_SWITCHES });
  const initial = Object.fromEntries(all.map(([name, [first]]) => [name, first]));
  expect(initial).toEqual({ ...createSandbox().dialect });
});
