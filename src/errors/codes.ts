/**
 * Every code that a {@link MarketgateError} can carry, with the HTTP status it stands for and what
 * may be said to a visitor. `title` and `detail` are safe to show: they name no system and no secret.
 */
export const ERROR_CODES = {
  // What the package could not find out.
  service_unavailable: {
    status: 503,
    title: 'The marketplace cannot be reached',
    detail:
      'The marketplace is not answering just now. Nothing is wrong on your side; please try again shortly.',
  },
  unexpected_response: {
    status: 502,
    title: 'The marketplace gave an answer that makes no sense',
    detail: 'The marketplace gave an answer that could not be read. Please try again shortly.',
  },
  service_refused: {
    status: 502,
    title: 'The marketplace refused the request',
    detail:
      'The marketplace did not accept the request of this site. Please tell the site if this goes on.',
  },
  api_key_rejected: {
    status: 500,
    title: 'This site is not set up correctly',
    detail:
      'This site cannot ask the marketplace at the moment. Please tell the site; it is not your fault.',
  },
  app_credentials_rejected: {
    status: 500,
    title: 'This site is not set up correctly',
    detail:
      'Logging in does not work on this site at the moment. Please tell the site; it is not your fault.',
  },
  store_unavailable: {
    status: 503,
    title: 'This site cannot read its own records',
    detail: 'This site cannot look up your login just now. Please try again shortly.',
  },

  // Logging in.
  auth_key_rejected: {
    status: 401,
    title: 'The login could not be completed',
    detail: 'This login link was already used or is too old. Please log in again.',
  },
  login_failed: {
    status: 401,
    title: 'The login could not be completed',
    detail: 'The marketplace did not say who you are. Please log in again.',
  },
  login_required: {
    status: 401,
    title: 'Please log in',
    detail: 'You need to be logged in to see this.',
  },
  access_token_expired: {
    status: 401,
    title: 'Your login has ended',
    detail: 'Your login has ended. Please log in again.',
  },

  // Being let in.
  purchase_required: {
    status: 402,
    title: 'A purchase code is needed',
    detail: 'This is for customers. Please enter your purchase code.',
  },
  purchase_code_invalid: {
    status: 403,
    title: 'This purchase code is not valid',
    detail:
      'The marketplace does not know this purchase code. Please check that it was copied whole.',
  },
  purchase_item_mismatch: {
    status: 403,
    title: 'This purchase code is for another item',
    detail: 'This purchase code is valid, but it belongs to another item.',
  },
  license_type_mismatch: {
    status: 403,
    title: 'This needs another licence',
    detail: 'This purchase code is valid, but its licence does not include this.',
  },
  support_expired: {
    status: 403,
    title: 'Support has ended',
    detail: 'This purchase code is valid, but its support period is over or was never included.',
  },
  purchase_not_accepted: {
    status: 403,
    title: 'This purchase is not accepted here',
    detail: 'This purchase code is valid, but it is not accepted here.',
  },
  too_many_attempts: {
    status: 429,
    title: 'Too many attempts',
    detail: 'Too many wrong purchase codes were entered. Please wait a little and try again.',
  },

  // Items.
  item_not_found: {
    status: 404,
    title: 'There is no such item',
    detail: 'There is no such item.',
  },
  item_id_invalid: {
    status: 400,
    title: 'This is not an item number',
    detail: 'An item number is a whole number, like 1042.',
  },
} as const satisfies Record<string, { status: number; title: string; detail: string }>;

/** The `code` of a {@link MarketgateError}. */
export type MarketgateErrorCode = keyof typeof ERROR_CODES;
