import type { WireAnswer } from '../support/service-in-memory.js';
import { type End, endsByHead, isTransient, type Judgement, readBody } from './answers.js';
import { KEY_ENDPOINTS, type KeyEndpoint } from './key-api-rows.js';
import {
  isObject,
  own,
  type Reading,
  readsAsAccount,
  readsAsItem,
  readsAsPurchase,
} from './shapes.js';

/** A payload as it may be read: the parts of it that an answer is compared with. */
interface Payload {
  readonly reading: Reading | 'absent';
  readonly value?: unknown;
}

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
    const names = Object.keys(value);
    const isNumbered = names.length > 0 && names.every((name) => /^\d+$/.test(name));
    return { reading: isNumbered ? 'open' : 'absent' };
  }
  const readings = value.map(readsAsItem);
  const read = value.filter((_each, i) => isSure(readings[i]));
  // "One broken item in a list does not sink the list"; a list of nothing but broken ones may sink.
  if (value.length > 0 && read.length === 0) {
    return { reading: readings.includes('open') ? 'open' : 'no' };
  }
  return { reading: 'yes', ...(!readings.includes('open') && { value: read }) };
}

const isSure = (reading: Reading | undefined): boolean => reading === 'yes' || reading === 'partly';

/** "An answer to another question is no answer". */
function isAboutAnother(
  endpoint: KeyEndpoint,
  { value }: Payload,
  asked: string | number | undefined,
): boolean {
  if (asked === undefined || !isObject(value)) return false;
  if (endpoint === 'item') return Number(value.id) !== asked;
  if (endpoint !== 'purchase') return false;
  const code = String(value.purchase_code).trim().toLowerCase();
  return !/[*\u2026]/.test(code) && code !== String(asked).toLowerCase();
}

/**
 * "How an answer is judged", section 2 of the contract.
 * @param asked - the code or item that was asked for; where that is not given, it is not compared.
 */
export function judgeKeyApi(
  endpoint: KeyEndpoint,
  answer: WireAnswer,
  asked?: string | number,
): Judgement {
  const head = endsByHead(answer);
  if (head !== undefined) return { ends: head };
  const { status } = answer;
  const read = readBody(answer.bytes);
  const body = read.kind === 'json' && isObject(read.value) ? read.value : undefined;
  const notJson: readonly End[] = [
    isTransient(status) ? 'service_unavailable' : 'unexpected_response',
  ];
  if (read.kind === 'other' || body === undefined) return { ends: notJson };

  const payload = payloadOf(endpoint, body);
  const isOther = payload.reading !== 'no' && isAboutAnother(endpoint, payload, asked);
  const saysError = own(body, 'status');
  // Written exactly "error" in the contract; in other letters it may be taken for it or not.
  const isError = typeof saysError === 'string' && saysError.toLowerCase() === 'error';
  const isOddlyError = isError && saysError !== 'error';
  const without = withoutPayload(endpoint, status, body, {
    isError,
    hasPayload: payload.reading !== 'absent',
  });
  const ends: End[] = [];
  const positive = isOther ? 'unexpected_response' : 'positive';
  const isRead = payload.reading === 'yes' || payload.reading === 'partly';
  if (payload.reading === 'absent' || payload.reading === 'no') ends.push(...without);
  else if (isError && !isOddlyError) ends.push(...without);
  else if (isRead && !isOddlyError) ends.push(positive);
  else ends.push(positive, ...without);
  // "No answer" at a status that says "not now": either may be said.
  if (isOther && isTransient(status)) ends.push('service_unavailable');
  if (!read.isSure) ends.push(...notJson);
  // An empty list says what the negative answer says, but not at a status that says "not now".
  if (endpoint === 'items' && isEmpty(own(body, 'items'))) {
    const end = isTransient(status) ? 'service_unavailable' : 'negative';
    return { ends: ends.map((each) => (each === 'positive' ? end : each)) };
  }
  return { ends, ...(isRead && { value: payload.value }) };
}

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

function withoutPayload(
  endpoint: KeyEndpoint,
  status: number,
  body: Record<string, unknown>,
  { isError, hasPayload }: { isError: boolean; hasPayload: boolean },
): readonly End[] {
  if (isTransient(status)) return ['service_unavailable'];
  const msg = own(body, 'msg');
  const negative: End = endpoint === 'account' ? 'api_key_rejected' : 'negative';
  if (typeof msg !== 'string') return ['unexpected_response'];
  if (endpoint === 'account' && (status === 401 || status === 403)) return [negative];
  const isDocumented = msg.toLowerCase() === KEY_ENDPOINTS[endpoint].no.toLowerCase();
  // Statuses beyond 499 that are no 5xx are in no class at all.
  if (isError && isDocumented) return [negative];
  if (status === 404) {
    const said = own(body, 'status');
    const isTranslated = typeof said === 'string' && said.toLowerCase() !== 'success';
    return [isTranslated ? negative : 'unexpected_response'];
  }
  return [hasPayload ? 'unexpected_response' : 'service_refused'];
}
