import { expect, it } from 'vitest';
import { commandIn } from '../../../src/help.js';

const folder = (name: string) => `/shop/node_modules/${name}/marketgate@1.0.0/dist`;

it.each([
  ['npx', {}],
  ['npx', { npm_config_user_agent: 'npm/11.0.0 node/v22' }, '.pnpm'],
  ['pnpm exec', { npm_config_user_agent: 'pnpm/10.1.0 npm/? node/v22' }],
  ['yarn', { npm_config_user_agent: 'yarn/4.6.0 npm/? node/v22' }],
  ['bunx', { npm_config_user_agent: 'bun/1.2.0 npm/? node/v22' }],
  ['pnpm exec', { npm_execpath: '/usr/lib/node_modules/pnpm/bin/pnpm.cjs' }],
  // `node server.mjs` says nothing about what has started it.
  ['pnpm exec', {}, '.pnpm'],
])(
  'the command of a hint is run by %s, as %j and the folder %s say',
  (runner, environment, name = 'x') => {
    expect(commandIn(environment, folder(name))).toBe(`${runner} marketgate`);
  },
);
