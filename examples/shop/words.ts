import type { MarketgateErrorCode } from 'marketgate';

/** What a customer is told: what happened, and what to do about it. */
export interface Words {
  readonly title: string;
  readonly text: string;
  /** What helps, if the catalogue does not. */
  readonly next?: 'login' | 'redeem';
}

const OUTAGE: Words = {
  title: 'We cannot ask the marketplace right now',
  text: 'It is not answering us. Nothing was refused, and if you entered a purchase code, it may well be fine. Please try again in a few minutes.',
};

const OUR_FAULT: Words = {
  title: 'We cannot ask the marketplace right now',
  text: 'Something is not set up as it should be on our side. Your purchase code may well be fine. We have been told; please try again later.',
};

const LOGIN_AGAIN: Words = {
  title: 'The login did not work out',
  text: 'This login was already used, was started in another browser, or took too long. Nothing is lost: please log in again.',
  next: 'login',
};

/**
 * A sentence for every code of the package, the customer's words and not the operator's. As a Record it
 * does not compile when a new version of the package knows a code that has no words here.
 */
const WORDS: Record<MarketgateErrorCode, Words> = {
  // The answer was no.
  purchase_required: {
    title: 'This is for customers',
    text: 'Please enter the purchase code you got when you bought the item.',
    next: 'redeem',
  },
  purchase_code_invalid: {
    title: 'The marketplace does not know this code',
    text: 'Please check that you copied the whole code. The code of a purchase that was refunded does not work any more.',
    next: 'redeem',
  },
  purchase_item_mismatch: {
    title: 'This code is for another item',
    text: 'The code is good, but it belongs to something else you bought. Please use the code of this item.',
    next: 'redeem',
  },
  license_type_mismatch: {
    title: 'Your licence does not include this',
    text: 'The code is good, but this part of the shop is for another kind of licence.',
  },
  support_expired: {
    title: 'Support for this purchase is over',
    text: 'The code is good and you can go on downloading the item. Only its support period has ended, or was not part of the purchase.',
  },
  purchase_not_accepted: {
    title: 'We cannot accept this purchase here',
    text: 'The code is good, but it does not open this part of the shop.',
  },
  too_many_attempts: {
    title: 'Too many tries',
    text: 'There were too many wrong codes in a short time. Please wait a minute, then copy the code from your receipt.',
  },
  item_not_found: {
    title: 'We do not have this item',
    text: 'It may have been taken out of the catalogue. If you bought it, you can still redeem your code and download it.',
    next: 'redeem',
  },
  item_id_invalid: {
    title: 'This is not an item number',
    text: 'Items have whole numbers, such as 1042. Please check the address.',
  },
  login_required: {
    title: 'Please log in',
    text: 'You need to be logged in for this. Nothing was lost: log in, then do it again.',
    next: 'login',
  },
  access_token_expired: {
    title: 'Your login has ended',
    text: 'Please log in again; it takes a moment.',
    next: 'login',
  },
  auth_key_rejected: LOGIN_AGAIN,
  login_failed: LOGIN_AGAIN,

  // There was no answer. None of these may read as "your code is wrong".
  service_unavailable: OUTAGE,
  unexpected_response: OUTAGE,
  service_refused: OUR_FAULT,
  api_key_rejected: OUR_FAULT,
  app_credentials_rejected: {
    title: 'Logging in does not work at the moment',
    text: 'Something is not set up as it should be on our side. We have been told; please try again later.',
  },
  store_unavailable: {
    title: 'We cannot look up your login right now',
    text: 'One of our own systems is not answering. Please try again in a few minutes.',
  },
};

/** Codes that are about the visitor's purchase code itself, so that the field may be marked as wrong. */
const ABOUT_THE_CODE: ReadonlySet<MarketgateErrorCode> = new Set([
  'purchase_required',
  'purchase_code_invalid',
  'purchase_item_mismatch',
]);

export const wordsFor = (code: MarketgateErrorCode): Words => WORDS[code];

export const isAboutTheCode = (code: MarketgateErrorCode): boolean => ABOUT_THE_CODE.has(code);

/** Words for a failed authentication, which passport reports as an error of its own. */
export const LOGIN_FAILED = LOGIN_AGAIN;
