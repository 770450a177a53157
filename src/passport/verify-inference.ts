import type { Request } from 'express';
import type { MarketplaceProfile } from './profile.js';
import type { AsyncVerify, TokenParams, VerifyDone, VerifyInput } from './verify.js';

/*
 * TypeScript gives the parameters of an inline callback their types once, from the first overload
 * that it tries, and never again. For `new MarketplaceStrategy(options, (a, b, c, d) => …)` and
 * `new MarketplaceStrategy(options, ({ profile }) => …)` both to be typed, that first overload has to
 * be the intersection of all forms. TypeScript then leaves out the forms with too few parameters, and
 * makes the union of the rest at each position. So what stands at one position in two forms must be
 * such that the union is still usable as either: `string & VerifyInput` is a string to who takes four
 * arguments, and disappears in `VerifyInput` for who takes one. No value is ever of these types.
 */

type First = string & VerifyInput;
type FirstRequest = Request & VerifyInput;
type Third = TokenParams & MarketplaceProfile;
type Fourth = MarketplaceProfile & VerifyDone;

/** `ClassicVerify`, for inference. */
export type Inferred4 = (
  accessToken: First,
  refreshToken: undefined,
  profile: MarketplaceProfile,
  done: VerifyDone,
) => unknown;

/** `ClassicVerifyWithParams`, for inference. */
export type Inferred5 = (
  accessToken: First,
  refreshToken: undefined,
  params: Third,
  profile: Fourth,
  done: VerifyDone,
) => unknown;

/** `ClassicVerifyWithRequest`, for inference. */
export type InferredWithRequest5 = (
  req: FirstRequest,
  accessToken: string,
  refreshToken: undefined,
  profile: MarketplaceProfile,
  done: VerifyDone,
) => unknown;

/** `ClassicVerifyWithRequestAndParams`, for inference. */
export type InferredWithRequest6 = (
  req: FirstRequest,
  accessToken: string,
  refreshToken: undefined,
  params: Third,
  profile: Fourth,
  done: VerifyDone,
) => unknown;

/** The first overload, without the request. */
export type AnyInline = AsyncVerify & Inferred4 & Inferred5;

/** The first overload, with `passReqToCallback: true`. */
export type AnyInlineWithRequest = AsyncVerify & InferredWithRequest5 & InferredWithRequest6;
