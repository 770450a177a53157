import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('answers are read where code must not be generated from strings', () => {
  const program = `
    const { parse } = await import('./src/model/fields.ts');
    const { itemSchema } = await import('./src/model/item.ts');
    let generates = true;
    try { new Function('') } catch { generates = false }
    const sent = { id: '1', name: 'a', media: {}, tags: 'b' };
    console.log(JSON.stringify([generates, parse(itemSchema, sent, 'item', () => {})]));`;
  const flags = ['--disallow-code-generation-from-strings', '--import', 'tsx'];
  const said = execFileSync(process.execPath, [...flags, '--input-type=module', '-e', program]);
  const value = { id: 1, name: 'a', media: {}, tags: ['b'] };
  expect(JSON.parse(said.toString())).toEqual([false, { ok: true, value }]);
});
