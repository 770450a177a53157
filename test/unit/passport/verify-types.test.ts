import { MarketplaceStrategy, type VerifyDone, type VerifyInput } from 'marketgate';
import type { Profile } from 'passport';
import { expect, it } from 'vitest';
import { fakeLoginApi } from '../../support/strategy-harness.js';

// What compiles: `tsc` checks this file. The users of this project have an id of text.

declare global {
  namespace Express {
    interface User {
      id?: string;
    }
  }
}

const { loginApi } = fakeLoginApi();
const options = { loginApi };
const withRequest = { loginApi, passReqToCallback: true } as const;
const users = [{ id: '77' }];

it('a verify that gives no user of the app does not compile, inline or not', () => {
  const strategies = [
    new MarketplaceStrategy(options, async ({ profile }) =>
      // @ts-expect-error perhaps undefined
      users.find(({ id }) => id === profile.id),
    ),
    // @ts-expect-error a user of another type
    new MarketplaceStrategy(options, async ({ profile }) => ({ id: Number(profile.id) })),
    // @ts-expect-error with the request before the classic arguments, too
    new MarketplaceStrategy(withRequest, async ({ profile }) => profile.id),
    // @ts-expect-error no return, declared before
    new MarketplaceStrategy(options, givesNothing),
    // @ts-expect-error the classic form is checked by its done
    new MarketplaceStrategy(options, (_a, _r, profile, done) => done(null, profile.id)),
  ];
  expect(strategies).toHaveLength(5);
});

async function givesNothing({ profile }: VerifyInput) {
  users.push({ id: profile.id });
}

it('a verify that was declared before, or only refuses, compiles: further forms are in the test of verify', () => {
  const classic = (_token: string, _refresh: string, profile: Profile, done: VerifyDone) =>
    done(null, { id: profile.id });
  const strategies = [
    new MarketplaceStrategy(options, classic),
    new MarketplaceStrategy(options, () => null),
    new MarketplaceStrategy(options, async () => false),
  ];
  expect(strategies).toHaveLength(3);
});
