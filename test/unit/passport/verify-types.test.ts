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
const users = [{ id: '77' }];

it('a verify that gives no user of the app does not compile, inline or not', () => {
  const strategies = [
    new MarketplaceStrategy(options, async ({ profile }) =>
      // @ts-expect-error perhaps undefined
      users.find(({ id }) => id === profile.id),
    ),
    // @ts-expect-error a user of another type
    new MarketplaceStrategy(options, async ({ profile }) => ({ id: Number(profile.id) })),
    // @ts-expect-error no return
    new MarketplaceStrategy(options, async ({ profile }) => {
      users.push({ id: profile.id });
    }),
    // @ts-expect-error a text for a user
    new MarketplaceStrategy(options, ({ profile }) => profile.id),
    new MarketplaceStrategy(
      { loginApi, passReqToCallback: true },
      // @ts-expect-error with the request before the classic arguments, too
      async ({ profile }) => profile.id,
    ),
    // @ts-expect-error declared before
    new MarketplaceStrategy(options, givesNothing),
    // @ts-expect-error the classic form is checked by its done
    new MarketplaceStrategy(options, (_a, _r, profile, done) => done(null, profile.id)),
  ];
  expect(strategies).toHaveLength(7);
});

async function givesNothing({ profile }: VerifyInput) {
  users.push({ id: profile.id });
}

it('a verify of the documentation compiles, inline or not: further forms are in the test of verify', () => {
  const classic = (_token: string, _refresh: string, profile: Profile, done: VerifyDone) =>
    done(null, { id: profile.id });
  const strategies: MarketplaceStrategy[] = [
    new MarketplaceStrategy(options, classic),
    new MarketplaceStrategy(
      options,
      ({ profile }) => profile.verified === true && { id: profile.id },
    ),
    new MarketplaceStrategy(options, () => null),
    new MarketplaceStrategy(options, async () => false),
  ];
  expect(strategies).toHaveLength(4);
});
