import type { LookupMessage } from '../diagnostics.js';
import { MarketgateError } from '../errors.js';
import {
  type Body,
  isTransient,
  type JsonResponse,
  saysError,
  unusable,
} from '../http/response.js';
import { type Account, accountRecord } from '../model/account.js';
import { type Field, isObject, type OnDrift, type Parsed, parse } from '../model/fields.js';
import { type Item, type ItemList, itemRecord, readItems } from '../model/item.js';
import { type Purchase, purchaseRecord } from '../model/purchase.js';
import { isMasked, readPurchaseCode } from '../model/purchase-code.js';
import { redact } from '../redact.js';

/** One endpoint of the key API (specification: "Endpoints" and "Errors"). */
export interface Endpoint<T> {
  /** The kind of its answers, as in `marketgate:lookup`. */
  readonly what: LookupMessage['what'];
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Its parameter besides the api_key. */
  readonly parameter?: 'item_id' | 'purchase_code';
  /** The documented `msg` of its negative answer. */
  readonly negativeMsg: string;
  /** Parses the payload; `undefined` when the body has none. */
  payload(body: Body, onDrift: OnDrift): Parsed<T> | undefined;
  /** Whether the payload is an empty list. Default: never. */
  isEmpty?(value: T): boolean;
  /** Whether the payload is about the parameter that was sent. Default: always. */
  isAbout?(value: T, requested: string): boolean;
}

/** The parameter, and so the cache key, of the endpoints that have none: account/details and items/all. */
export const NO_PARAMETER = '';

export const accountDetails: Endpoint<Account> = {
  what: 'account',
  method: 'GET',
  path: '/api/account/details',
  negativeMsg: 'Invalid request',
  payload: payloadAt(accountRecord, 'data'),
};

export const itemsAll: Endpoint<ItemList> = {
  what: 'items',
  method: 'GET',
  path: '/api/items/all',
  negativeMsg: 'No items found',
  payload: ({ items }, onDrift) => readItems(items, 'items', onDrift),
  isEmpty: ({ items }) => items.length === 0,
};

export const itemsItem: Endpoint<Item> = {
  what: 'item',
  method: 'GET',
  path: '/api/items/item',
  parameter: 'item_id',
  negativeMsg: 'Item Not Found',
  payload: payloadAt(itemRecord, 'item'),
  isAbout: ({ id }, requested) => String(id) === requested,
};

export const purchasesValidation: Endpoint<Purchase> = {
  what: 'purchase',
  method: 'POST',
  path: '/api/purchases/validation',
  parameter: 'purchase_code',
  negativeMsg: 'Invalid purchase code',
  // Some deployments answer with the purchase under `item`.
  payload: payloadAt(purchaseRecord, 'data.purchase', 'item'),
  isAbout: ({ purchase_code: named }, requested) =>
    isMasked(named) || readPurchaseCode(named)?.key === requested.toLowerCase(),
};

/** Reads the first of these places in a body that holds an object. */
function payloadAt<T>(record: Field<T>, ...places: readonly string[]): Endpoint<T>['payload'] {
  return (body, onDrift) => {
    for (const place of places) {
      let sent: unknown = body;
      for (const key of place.split('.')) sent = isObject(sent) ? sent[key] : undefined;
      if (isObject(sent)) return parse(record, sent, place, onDrift);
    }
    return undefined;
  };
}

const bodyOf = ({ value }: JsonResponse): Body => (isObject(value) ? value : {});

/** Whether a response has the documented words of an endpoint's negative answer. */
function saysNo(response: JsonResponse, { negativeMsg }: Endpoint<unknown>): boolean {
  const { status, msg } = bodyOf(response);
  const isError = saysError(status) && !isTransient(response.status);
  return isError && typeof msg === 'string' && msg.toLowerCase() === negativeMsg.toLowerCase();
}

/** What frameworks send as the "status" of an answer with HTTP 404. */
const FRAMEWORK_STATUS = /^\s*(success|ok|fail(ed)?|not\s+found)\s*$/i;
const LETTERS_AND_BLANKS = /^[\p{L}\p{M}\s]+$/u;
const LETTER = /\p{L}/u;
const NOT_FOUND = /^\P{L}*not\s+found\P{L}*$/iu;
/** A digit, a path or a URL; or a word of what a framework has not found. */
const ABOUT_ROUTE =
  /[\p{N}/\\]|(?<!\p{L})(pages?|routes?|paths?|endpoints?|resources?|ur[il]s?|methods?)(?!\p{L})/iu;
/** The name of a method of HTTP, which some say in place of that word. */
const METHOD = /(?<!\p{L})(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)(?!\p{L})/u;

/**
 * Whether the body of an answer with HTTP 404 is a negative answer in the language of a deployment: "status" and "msg",
 * both in words, and nothing else. Gateways and frameworks add fields, or say what was not found.
 */
function isTranslatedNo(body: Body): boolean {
  const { status, msg, ...others } = body;
  if (Object.keys(others).length > 0 || typeof status !== 'string' || typeof msg !== 'string') {
    return false;
  }
  const isOfService =
    LETTERS_AND_BLANKS.test(status) && LETTER.test(status) && !FRAMEWORK_STATUS.test(status);
  const isAboutRoute = ABOUT_ROUTE.test(msg) || METHOD.test(msg);
  return isOfService && LETTER.test(msg) && !NOT_FOUND.test(msg) && !isAboutRoute;
}

/** Whether a response of any endpoint has the documented words for an api_key that the service does not know. */
export const blamesKey = (response: JsonResponse): boolean => saysNo(response, accountDetails);

/**
 * Parses a response; `null` is a negative answer. The body counts before the status, because the
 * specification shows no statuses. Only the service's own words make a negative answer; anything else that
 * keeps us from finding out is an error.
 * @param requested the value of the endpoint's parameter.
 * @param secrets values that were sent and must not appear in an error.
 */
export function parseKeyAnswer<T>(
  endpoint: Endpoint<T>,
  requested: string,
  response: JsonResponse,
  secrets: readonly string[],
  onDrift: OnDrift,
): T | null {
  const { name, status } = response;
  const body = bodyOf(response);
  const payload = saysError(body.status) ? undefined : endpoint.payload(body, onDrift);
  const isEmptyList = payload?.ok && endpoint.isEmpty?.(payload.value) === true;
  // With HTTP 5xx or 429, an empty list does not mean an empty catalogue.
  if (payload?.ok && !(isEmptyList && isTransient(status))) {
    if (endpoint.isAbout?.(payload.value, requested) !== false) return payload.value;
    throw new MarketgateError(
      'unexpected_response',
      `${name}: the answer is about something else than was asked for; check what stands in front of the service`,
    );
  }
  const { msg } = body;
  if (typeof msg === 'string' && !isTransient(status)) {
    const isNegative = saysNo(response, endpoint) || (status === 404 && isTranslatedNo(body));
    if (endpoint.what === 'account' && (isNegative || status === 401 || status === 403)) {
      throw new MarketgateError(
        'api_key_rejected',
        `${name}: the service does not know this api_key; generate one in the workspace settings and put it in "apiKey"`,
      );
    }
    if (isNegative) return null;
    if (payload === undefined && status !== 404) {
      const problem = `the service refused (HTTP ${status}): "${redact(msg, secrets)}"`;
      throw new MarketgateError('service_refused', `${name}: ${problem}`);
    }
  }
  throw unusable(response, payload?.ok === false ? payload : undefined);
}
