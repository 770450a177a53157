import { expect } from 'vitest';
import { type Running, runBlock } from '../support/run-block.js';

/** What must be true while a documented program runs. */
export type Check = (running: Running) => Promise<void>;

/** Codes of the sandbox's default seed never change. */
export const SUPPORTED = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';
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
  expect(await ask(SUPPORTED)).toBe(opened);
}

export async function postJson(url: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const isJson = response.headers.get('content-type')?.includes('json');
  const json = isJson ? await response.json() : {};
  return { status: response.status, body: json as Record<string, unknown> };
}

/**
 * Refuses forms of other sites, and sets no cookie in the answer: such a form comes without the session's cookie, which is
 * `SameSite=Lax`, but a new one would take the place of the visitor's.
 */
export async function expectNoFormsFromElsewhere(
  running: Running,
  ...paths: readonly string[]
): Promise<void> {
  for (const path of paths) {
    const { status, headers } = await fetch(`${await running.origin()}${path}`, {
      ...{ method: 'POST', redirect: 'manual' },
      headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
      body: new URLSearchParams({ purchase_code: SUPPORTED }),
    });
    expect([401, 403], path).toContain(status);
    expect(headers.getSetCookie(), path).toEqual([]);
  }
}

/** Ends at once, with words, where a secret is missing: with an empty one, everybody could make what it signs or opens. */
export async function expectNoStartWithout({ file }: Running, secret: string): Promise<void> {
  for (const value of ['', 'too-short']) {
    await runBlock(file, { [secret]: value }, ({ origin }) =>
      expect(origin()).rejects.toThrow(`${secret} is missing`),
    );
  }
}
