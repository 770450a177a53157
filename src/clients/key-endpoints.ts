import type { Deadline } from '../deadline.js';
import { MarketgateError } from '../errors.js';
import { redact } from '../http/failure.js';
import { describeUnusable, isNotNow, type JsonResponse, MEANINGS } from '../http/meanings.js';
import { type Account, accountSchema } from '../model/account.js';
import {
  deepFreeze,
  describeProblem,
  isNumbered,
  isObject,
  type OnDrift,
  type Parsed,
  parse,
} from '../model/fields.js';
import { type Item, itemSchema } from '../model/item.js';
import { type Purchase, purchaseSchema } from '../model/purchase.js';

/** The JSON object in a response. */
type Body = Readonly<Record<string, unknown>>;

const isError = ({ status }: Body): boolean =>
  typeof status === 'string' && status.toLowerCase() === 'error';

/** The parameters of an endpoint, without the api_key. */
export interface Parameters {
  readonly item_id?: string;
  readonly purchase_code?: string;
}

/** Options of {@link parseAnswer}. */
export interface ParseOptions {
  readonly onDrift: OnDrift;
  /** Whether each item of a list is frozen once it is parsed, for the cache. */
  readonly freezes: boolean;
  /** Lets other work run between two slices of a long list, and stops parsing when the call has ended. */
  readonly deadline: Pick<Deadline, 'turn'>;
}

/** One endpoint of the key API (specification: "Endpoints" and "Errors"). */
export interface Endpoint<T> {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The documented `msg` of its negative answer. */
  readonly negativeMsg: string;
  /** Statuses that make any `msg` a negative answer. Default: only 404. */
  readonly negativeStatuses?: readonly number[];
  /** Parses the payload; `undefined` when the body has none. */
  payload(
    body: Body,
    options: ParseOptions,
  ): Parsed<T> | undefined | Promise<Parsed<T> | undefined>;
  /** Whether the payload is about what was requested. Default: always. */
  isAbout?(value: T, requested: Parameters): boolean;
}

export const accountDetails: Endpoint<Account> = {
  method: 'GET',
  path: '/api/account/details',
  negativeMsg: 'Invalid request',
  negativeStatuses: [401, 403, 404],
  payload: ({ data }, { onDrift }) =>
    isObject(data) ? parse(accountSchema, data, 'data', onDrift) : undefined,
};

export const itemsAll: Endpoint<Item[]> = {
  method: 'GET',
  path: '/api/items/all',
  negativeMsg: 'No items found',
  payload: ({ items }, options) => parseItems(items, options),
};

export const itemsItem: Endpoint<Item> = {
  method: 'GET',
  path: '/api/items/item',
  negativeMsg: 'Item Not Found',
  payload: ({ item }, { onDrift }) =>
    isObject(item) ? parse(itemSchema, item, 'item', onDrift) : undefined,
  isAbout: ({ id }, { item_id }) => String(id) === item_id,
};

export const purchasesValidation: Endpoint<Purchase> = {
  method: 'POST',
  path: '/api/purchases/validation',
  negativeMsg: 'Invalid purchase code',
  payload: ({ data, item }, { onDrift }) => {
    const documented = isObject(data) ? data.purchase : undefined;
    if (isObject(documented)) return parse(purchaseSchema, documented, 'data.purchase', onDrift);
    // Some deployments answer with the purchase under `item`.
    return isObject(item) ? parse(purchaseSchema, item, 'item', onDrift) : undefined;
  },
  // A masked code, as in `****-1c2d`, cannot be compared.
  isAbout: ({ purchase_code: code }, { purchase_code: requested = '' }) =>
    /[*\u2026]/.test(code) || code.trim().toLowerCase() === requested.toLowerCase(),
};

/** Items that are parsed before other work runs: some milliseconds. */
const SLICE = 500;

/**
 * Parses the item list. An item that cannot be parsed is left out and reported; if that is true of all
 * items, the list is unusable.
 */
async function parseItems(
  sent: unknown,
  { onDrift, freezes, deadline }: ParseOptions,
): Promise<Parsed<Item[]> | undefined> {
  // PHP writes a list with gaps in its numbering as an object. `{}` is an empty map, not a list.
  const isList = Array.isArray(sent) || (isNumbered(sent) && Object.keys(sent).length > 0);
  if (!isList) return undefined;
  const list: readonly unknown[] = Object.values(sent);
  const items: Item[] = [];
  let firstProblem: Parsed<Item[]> | undefined;
  for (const [i, element] of list.entries()) {
    const item = parse(itemSchema, element, `items[${i}]`, onDrift);
    if (item.ok) items.push(freezes ? deepFreeze(item.value) : item.value);
    else {
      firstProblem ??= item;
      onDrift({ kind: 'dropped', path: item.path, expected: item.expected });
    }
    if (i % SLICE === SLICE - 1) await deadline.turn();
  }
  return items.length === 0 && firstProblem !== undefined
    ? firstProblem
    : { ok: true, value: items };
}

/**
 * Parses a response by the table {@link MEANINGS}; `null` is a negative answer.
 * @param secrets values that were sent and must not appear in an error.
 * @throws MarketgateError when the response is neither a positive nor a negative answer.
 */
export async function parseAnswer<T>(
  endpoint: Endpoint<T>,
  requested: Parameters,
  response: JsonResponse,
  secrets: readonly string[],
  options: ParseOptions,
): Promise<T | null> {
  const { method, path } = endpoint;
  const column = path === accountDetails.path ? 'account' : 'keyApi';
  const { body: json } = response;
  const body = json.isJson && isObject(json.value) ? json.value : undefined;
  const payload = body && !isError(body) ? await endpoint.payload(body, options) : undefined;
  // With HTTP 5xx or 429, an empty list does not mean an empty catalogue.
  if (payload?.ok && !(isNotNow(response) && isEmptyList(payload.value))) {
    if (endpoint.isAbout?.(payload.value, requested) !== false) return payload.value;
    throw new MarketgateError(
      MEANINGS.otherQuestion[column],
      `${method} ${path}: the answer is about something else than was asked for; check what stands in front of the service`,
    );
  }
  const kind = kindOf(endpoint, response, body, payload);
  const meaning = MEANINGS[kind][column];
  if (meaning === 'negative') return null;
  const clean = (text: unknown): string => redact(String(text), secrets);
  const problem =
    kind === 'refusal'
      ? `the service refused (HTTP ${response.status}): "${clean(body?.msg)}"`
      : kind === 'negative'
        ? 'the service does not know this api_key; generate one in the workspace settings and put it in "apiKey"'
        : describeUnusable(
            response,
            payload?.ok === false ? clean(describeProblem(payload)) : undefined,
          );
  throw new MarketgateError(meaning, `${method} ${path}: ${problem}`);
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

function kindOf(
  { negativeMsg, negativeStatuses = [404] }: Endpoint<unknown>,
  response: JsonResponse,
  body: Body | undefined,
  payload: Parsed<unknown> | undefined,
) {
  if (isNotNow(response)) return 'notNow';
  if (body === undefined) return 'notJson';
  const { msg } = body;
  if (typeof msg === 'string') {
    // Some deployments translate `msg`: then the status decides.
    if (negativeStatuses.includes(response.status)) return 'negative';
    if (isError(body) && msg.toLowerCase() === negativeMsg.toLowerCase()) return 'negative';
  }
  if (payload !== undefined) return 'misshapen';
  return typeof msg === 'string' ? 'refusal' : 'withoutPayload';
}
