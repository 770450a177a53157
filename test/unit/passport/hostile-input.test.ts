import fc from 'fast-check';
import { MarketplaceStrategy, returnTo } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { drive, fakeLoginApi, requestOf } from '../../support/strategy-harness.js';

const OUTCOMES = ['success', 'fail', 'redirect', 'pass', 'error'];

/** Pieces that hostile paths are made of. */
const piece = fc.constantFrom(
  '/',
  '//',
  '\\',
  '/\\',
  '\\/',
  '.',
  '..',
  '/./',
  '/../',
  ':',
  '@',
  '?',
  '#',
  '%2f',
  '%5c',
  '%2e',
  '%00',
  '\t',
  '\n',
  '\r',
  '\0',
  '\u2028',
  '\u00a0',
  '\u200b',
  '\uff0f',
  '\u2215',
  ' ',
  ';',
  '&',
  'http:',
  'https:',
  'HTTPS:',
  'javascript:',
  'data:',
  'evil.example',
  'app.test',
  '127.0.0.1',
  '[::1]',
  'a',
  'account',
  'auth_key=x',
  '\ud800',
);
const hostilePath = fc.oneof(
  fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
  fc.array(piece, { maxLength: 8 }).map((pieces) => `/${pieces.join('')}`),
  fc.string({ unit: 'binary', maxLength: 60 }),
);
const anyValue = fc.oneof(hostilePath, fc.anything(), fc.array(fc.string(), { maxLength: 3 }));

describe('whatever comes in', () => {
  it('no returnTo leaves the origin', async () => {
    await fc.assert(
      fc.asyncProperty(hostilePath, async (wanted) => {
        const strategy = new MarketplaceStrategy(
          { loginApi: fakeLoginApi().loginApi },
          async ({ profile }) => ({ id: profile.id }),
        );
        const session = {};
        await drive(strategy, requestOf({}, { session }), { returnTo: wanted });
        const req = requestOf({ auth_key: 'k' }, { session });
        await drive(strategy, req);
        const path = returnTo(req);
        if (path === undefined) return;
        expect(path).toBe(wanted);
        // As a browser reads a Location, and as one that takes backslashes for slashes does.
        for (const location of [path, path.replaceAll('\\', '/'), path.replace(/[\t\r\n]/g, '')]) {
          expect(new URL(location, 'https://app.test/callback').origin).toBe('https://app.test');
        }
        expect(new URL(path, 'https://app.test').pathname.startsWith('//')).toBe(false);
      }),
      { numRuns: 400 },
    );
  });

  it('an auth_key ends in exactly one outcome, and never hangs', async () => {
    await fc.assert(
      fc.asyncProperty(anyValue, fc.boolean(), async (auth_key, isStarted) => {
        const { loginApi } = fakeLoginApi();
        const strategy = new MarketplaceStrategy({ loginApi }, async ({ profile }) => ({
          id: profile.id,
        }));
        const session = {};
        if (isStarted) await drive(strategy, requestOf({}, { session }));
        const recorded = await drive(strategy, requestOf({ auth_key }, { session }));
        expect(recorded).toHaveLength(1);
        expect(OUTCOMES).toContain(recorded[0]?.[0]);
        if (recorded[0]?.[0] === 'success') expect(isStarted).toBe(true);
      }),
      { numRuns: 400 },
    );
  });

  it('a session full of rubbish ends in exactly one outcome, and logs nobody in', async () => {
    await fc.assert(
      fc.asyncProperty(fc.anything(), fc.boolean(), async (rubbish, isCallback) => {
        const { loginApi } = fakeLoginApi();
        const strategy = new MarketplaceStrategy({ loginApi }, async ({ profile }) => ({
          id: profile.id,
        }));
        const session = { 'marketgate:attempts': rubbish, 'marketgate:returnTo': rubbish };
        const query = isCallback ? { auth_key: 'k' } : {};
        const recorded = await drive(strategy, requestOf(query, { session }));
        expect(recorded.map(([name]) => name)).toEqual([isCallback ? 'fail' : 'redirect']);
      }),
      { numRuns: 300 },
    );
  });
});
