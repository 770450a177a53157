import { expect, it } from 'vitest';
import { commandIn } from '../../../src/help.js';

it.each([
  [{}, 'npx'],
  [{ npm_config_user_agent: 'npm/11.0.0 node/v22' }, 'npx'],
  [{ npm_config_user_agent: 'pnpm/10.1.0 npm/? node/v22' }, 'pnpm exec'],
  [{ npm_config_user_agent: 'yarn/4.6.0 npm/? node/v22' }, 'yarn'],
  [{ npm_config_user_agent: 'bun/1.2.0 npm/? node/v22' }, 'bunx'],
  [{ npm_execpath: '/usr/lib/node_modules/pnpm/bin/pnpm.cjs' }, 'pnpm exec'],
  [{ npm_execpath: 'C:\\nodejs\\node_modules\\npm\\bin\\npm-cli.js' }, 'npx'],
])(
  'the command of a hint is that of the package manager that started the process: %j',
  (environment, runner) => {
    expect(commandIn(environment)).toBe(`${runner} marketgate`);
  },
);

it('without one that has started it, the command is that of the package manager that has installed the package', () => {
  const folder = (name: string) => `/shop/node_modules/${name}/marketgate@1.0.0/dist`;
  expect(commandIn({}, folder('.pnpm'))).toBe('pnpm exec marketgate');
  expect(commandIn({ npm_config_user_agent: 'npm/11' }, folder('.pnpm'))).toBe('npx marketgate');
  expect(commandIn({}, folder('x'))).toBe('npx marketgate');
});
