import type { Deadline } from '../deadline.js';
import { MarketgateError } from '../errors.js';
import { redact } from '../http/failure.js';
import { type Answer, describeUnusable, isNotNow, MEANINGS } from '../http/meanings.js';
import { type Account, accountSchema } from '../model/account.js';
import {
  deepFreeze,
  isNumbered,
  isObject,
  type OnDrift,
  type Parsed,
  parse,
  problemOf,
} from '../model/fields.js';
import { type Item, itemSchema } from '../model/item.js';
import { type Purchase, purchaseSchema } from '../model/purchase.js';

/** The body of an answer. */
type Body = Readonly<Record<string, unknown>>;

const isError = ({ status }: Body): boolean =>
  typeof status === 'string' && status.toLowerCase() === 'error';

/** What an endpoint takes in addition to the api_key. */
export interface Parameters {
  readonly item_id?: string;
  readonly purchase_code?: string;
}

/** What reading an answer needs in addition to its body. */
export interface Reading {
  readonly onDrift: OnDrift;
  /** Whether a list is frozen while it is read, for the cache. */
  readonly freezes: boolean;
  /** Lets others have their turn between two slices of a long list; ends it with the call. */
  readonly deadline: Pick<Deadline, 'turn'>;
}

/** One endpoint, as the specification's tables "Endpoints" and "Errors" have it. */
export interface Endpoint<T> {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The documented `msg` of its negative answer. */
  readonly no: string;
  /** Statuses that make any `msg` a negative answer. Default 404 alone. */
  readonly noStatuses?: readonly number[];
  /** The payload of an answer's body, where there is one. */
  payload(body: Body, reading: Reading): Parsed<T> | undefined | Promise<Parsed<T> | undefined>;
  /** Whether an answer is about what was asked for. */
  isAbout?(value: T, asked: Parameters): boolean;
}

export const accountDetails: Endpoint<Account> = {
  method: 'GET',
  path: '/api/account/details',
  no: 'Invalid request',
  noStatuses: [401, 403, 404],
  payload: ({ data }, { onDrift }) =>
    isObject(data) ? parse(accountSchema, data, 'data', onDrift) : undefined,
};

export const itemsAll: Endpoint<Item[]> = {
  method: 'GET',
  path: '/api/items/all',
  no: 'No items found',
  payload: ({ items }, reading) => readItems(items, reading),
};

export const itemsItem: Endpoint<Item> = {
  method: 'GET',
  path: '/api/items/item',
  no: 'Item Not Found',
  payload: ({ item }, { onDrift }) =>
    isObject(item) ? parse(itemSchema, item, 'item', onDrift) : undefined,
  isAbout: ({ id }, { item_id }) => String(id) === item_id,
};

export const purchasesValidation: Endpoint<Purchase> = {
  method: 'POST',
  path: '/api/purchases/validation',
  no: 'Invalid purchase code',
  payload: ({ data, item }, { onDrift }) => {
    const documented = isObject(data) ? data.purchase : undefined;
    if (isObject(documented)) return parse(purchaseSchema, documented, 'data.purchase', onDrift);
    // Some deployments answer with the purchase under `item`.
    return isObject(item) ? parse(purchaseSchema, item, 'item', onDrift) : undefined;
  },
  // A code that is masked, as in `****-1c2d`, names none.
  isAbout: ({ purchase_code: code }, { purchase_code: asked = '' }) =>
    /[*\u2026]/.test(code) || code.trim().toLowerCase() === asked.toLowerCase(),
};

/** Items of a list that are read before other requests have their turn: some milliseconds. */
const SLICE = 500;

/**
 * One broken item does not sink the list: it is left out and reported. A list of which nothing can be
 * read is no list.
 */
async function readItems(
  sent: unknown,
  { onDrift, freezes, deadline }: Reading,
): Promise<Parsed<Item[]> | undefined> {
  // PHP writes a list with gaps in its numbering as an object. `{}` is an empty map, and no list.
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
 * What an answer means, by the table in {@link MEANINGS}; `null` is a negative answer.
 * @param secrets what was sent, never to be repeated in an error.
 * @throws MarketgateError for everything that is neither an answer nor a negative one.
 */
export async function judge<T>(
  endpoint: Endpoint<T>,
  asked: Parameters,
  answer: Answer,
  secrets: readonly string[],
  reading: Reading,
): Promise<T | null> {
  const { method, path } = endpoint;
  const column = path === accountDetails.path ? 'account' : 'keyApi';
  const body = answer.body.isJson && isObject(answer.body.value) ? answer.body.value : undefined;
  const payload = body && !isError(body) ? await endpoint.payload(body, reading) : undefined;
  // At a status that says "not now", an empty list is not the catalogue.
  if (payload?.ok && !(isNotNow(answer) && isEmptyList(payload.value))) {
    if (endpoint.isAbout?.(payload.value, asked) !== false) return payload.value;
    throw new MarketgateError(
      MEANINGS.otherQuestion[column],
      `${method} ${path}: the answer is about something else than was asked for; check what stands in front of the service`,
    );
  }
  const kind = kindOf(endpoint, answer, body, payload);
  const meaning = MEANINGS[kind][column];
  if (meaning === 'no') return null;
  const clean = (text: unknown): string => redact(String(text), secrets);
  const problem =
    kind === 'refusal'
      ? `the service refused (HTTP ${answer.status}): "${clean(body?.msg)}"`
      : kind === 'no'
        ? 'the service does not know this api_key; generate one in the workspace settings and put it in "apiKey"'
        : describeUnusable(answer, payload?.ok === false ? clean(problemOf(payload)) : undefined);
  throw new MarketgateError(meaning, `${method} ${path}: ${problem}`);
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

function kindOf(
  { no, noStatuses = [404] }: Endpoint<unknown>,
  answer: Answer,
  body: Body | undefined,
  payload: Parsed<unknown> | undefined,
) {
  if (isNotNow(answer)) return 'notNow';
  if (body === undefined) return 'notJson';
  const { msg } = body;
  if (typeof msg === 'string') {
    // A translated deployment says everything in its own words: then the status decides.
    if (noStatuses.includes(answer.status)) return 'no';
    if (isError(body) && msg.toLowerCase() === no.toLowerCase()) return 'no';
  }
  if (payload !== undefined) return 'misshapen';
  return typeof msg === 'string' ? 'refusal' : 'withoutPayload';
}
