import type { WireAnswer } from '../support/service-in-memory.js';
import { type End, endsByHead, isNotNow, type Judgement, readBody } from './answers.js';
import { KEY_ENDPOINTS, type KeyEndpoint } from './key-api-rows.js';
import { isObject, type Reading, readsAsAccount, readsAsItem, readsAsPurchase } from './shapes.js';

/** A payload as it may be read: the parts of it that an answer is compared with. */
interface Payload {
  readonly reading: Reading | 'absent';
  readonly value?: unknown;
}

const own = (body: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(body, name) ? body[name] : undefined;

function payloadOf(endpoint: KeyEndpoint, body: Record<string, unknown>): Payload {
  const data = own(body, 'data');
  if (endpoint === 'account') return single(data, readsAsAccount);
  if (endpoint === 'item') return single(own(body, 'item'), readsAsItem);
  if (endpoint === 'items') return list(own(body, 'items'));
  const documented = isObject(data) ? own(data, 'purchase') : undefined;
  const other = own(body, 'item');
  if (!isObject(documented)) return single(other, readsAsPurchase);
  const first = single(documented, readsAsPurchase);
  // Two purchases in one answer: which of them counts is said nowhere.
  return isObject(other) && first.reading !== 'yes' ? { reading: 'open' } : first;
}

function single(value: unknown, rule: (value: unknown) => Reading): Payload {
  return isObject(value) ? { reading: rule(value), value } : { reading: 'absent' };
}

function list(value: unknown): Payload {
  if (!Array.isArray(value)) {
    if (!isObject(value)) return { reading: 'absent' };
    const names = Object.keys(value).filter((name) => name !== '__proto__');
    return names.every((name) => /^\d+$/.test(name)) ? { reading: 'open' } : { reading: 'absent' };
  }
  const readings = value.map(readsAsItem);
  // "One broken item in a list does not sink the list"; a list of nothing but broken ones may sink.
  if (value.length > 0 && !readings.includes('yes')) {
    return { reading: readings.includes('open') ? 'open' : 'no' };
  }
  return { reading: 'yes', ...(readings.every((reading) => reading === 'yes') && { value }) };
}

/** "How an answer is judged", section 2 of the contract. */
export function judgeKeyApi(endpoint: KeyEndpoint, answer: WireAnswer): Judgement {
  const head = endsByHead(answer);
  if (head !== undefined) return { ends: head };
  const { status } = answer;
  const read = readBody(answer.bytes);
  const body = read.kind === 'json' && isObject(read.value) ? read.value : undefined;
  const notJson: readonly End[] = [
    isNotNow(status) ? 'service_unavailable' : 'unexpected_response',
  ];
  if (read.kind === 'other' || body === undefined) return { ends: notJson };

  const payload = payloadOf(endpoint, body);
  const saysError = own(body, 'status');
  // Written exactly "error" in the contract; in other letters it may be taken for it or not.
  const isError = typeof saysError === 'string' && saysError.toLowerCase() === 'error';
  const isOddlyError = isError && saysError !== 'error';
  const without = withoutPayload(endpoint, status, body, {
    isError,
    hasPayload: payload.reading !== 'absent',
  });
  const ends: End[] = [];
  if (payload.reading === 'absent' || payload.reading === 'no') ends.push(...without);
  else if (isError && !isOddlyError) ends.push(...without);
  else if (payload.reading === 'yes' && !isOddlyError) ends.push('positive');
  else ends.push('positive', ...without);
  if (!read.isSure) ends.push(...notJson);
  // An empty list says what the negative answer says.
  if (endpoint === 'items' && isEmpty(own(body, 'items'))) {
    return { ends: ends.map((end) => (end === 'positive' ? 'negative' : end)) };
  }
  return { ends, ...(payload.reading === 'yes' && { value: payload.value }) };
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.keys(value).every((name) => name === '__proto__');

function withoutPayload(
  endpoint: KeyEndpoint,
  status: number,
  body: Record<string, unknown>,
  { isError, hasPayload }: { isError: boolean; hasPayload: boolean },
): readonly End[] {
  if (isNotNow(status)) return ['service_unavailable'];
  const msg = own(body, 'msg');
  const negative: End = endpoint === 'account' ? 'api_key_rejected' : 'negative';
  if (typeof msg !== 'string') return ['unexpected_response'];
  if (status === 404) return [negative];
  if (endpoint === 'account' && (status === 401 || status === 403)) return [negative];
  const isDocumented = msg.toLowerCase() === KEY_ENDPOINTS[endpoint].no.toLowerCase();
  // Statuses beyond 499 that are no 5xx are in no class at all.
  if (isError && isDocumented) return [negative];
  return [hasPayload ? 'unexpected_response' : 'service_refused'];
}
