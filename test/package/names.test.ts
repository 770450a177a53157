import { describe, expect, inject, it } from 'vitest';
import { mustRun } from './run-program.js';

const ENTRIES = ['', '/redis', '/keyv', '/testing', '/sandbox'];

/** What each entry exports under another name than its own: stack traces and logs would show that. */
const PROGRAM = `
(async () => {
  const wrong = [];
  for (const entry of ${JSON.stringify(ENTRIES)}) {
    const exported = await load('marketgate' + entry);
    for (const [name, value] of Object.entries(exported)) {
      if (typeof value === 'function' && value.name !== name) wrong.push(name + ' is ' + value.name);
    }
  }
  console.log(JSON.stringify(wrong));
})();`;

describe('the names of what is exported', () => {
  it.each([
    { type: 'module', load: 'const load = (name) => import(name);' },
    { type: 'commonjs', load: 'const load = require;' },
  ])('are their own as $type', async ({ type, load }) => {
    const args = [`--input-type=${type}`, '--eval', `${load}${PROGRAM}`];
    const cwd = inject('projects').express5;
    expect(JSON.parse(await mustRun(process.execPath, args, { cwd }))).toEqual([]);
  });
});
