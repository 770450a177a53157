import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('the check of a shape works where code must not be generated from strings', () => {
  const program = `
    const { checkerOf } = await import('./src/shape/checker.ts');
    const { itemSchema } = await import('./src/model/item.ts');
    let generates = true;
    try { new Function('') } catch { generates = false }
    console.log(generates, checkerOf(itemSchema)({ id: 1, name: 'a', media: {} }));`;
  const flags = ['--disallow-code-generation-from-strings', '--import', 'tsx'];
  const said = execFileSync(process.execPath, [...flags, '--input-type=module', '-e', program]);
  expect(said.toString().trim()).toBe('false true');
});
