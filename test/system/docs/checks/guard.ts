import { expect } from 'vitest';
import type { Running } from '../support/run-block.js';

export const WRONG = '00000000-0000-4000-8000-000000000000';

/** A guarded route lets a customer in, and nobody else. */
export async function expectGuard(running: Running, path: string, opened = 200): Promise<void> {
  const ask = async (code?: string) => {
    const answer = await running.get(path, code === undefined ? {} : { 'x-purchase-code': code });
    const isProblem = answer.headers.get('content-type')?.startsWith('application/problem+json');
    return isProblem ? ((await answer.json()) as { code: string }).code : answer.status;
  };
  expect(await ask()).toBe('purchase_required');
  expect(await ask(WRONG)).toBe('purchase_code_invalid');
  expect(await ask(running.code('supported'))).toBe(opened);
}
