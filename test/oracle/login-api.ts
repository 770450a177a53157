import type { WireAnswer } from '../support/service-in-memory.js';
import {
  type End,
  endsByHead,
  isTransient,
  type Judgement,
  NEVER_NEGATIVE,
  readBody,
} from './answers.js';
import type { LoginEndpoint } from './login-api-rows.js';
import { isObject, own, readsAsUser } from './shapes.js';

type Body = Record<string, unknown>;

/** Whether a body says that it is an error: surely, surely not, or in some way of its own. */
function saysError(body: Body): boolean | undefined {
  const error = own(body, 'error');
  const status = own(body, 'status');
  if (typeof status === 'string' && status.toLowerCase() === 'error') return true;
  if ([undefined, null, false, 0, ''].includes(error as never)) return false;
  // PHP's empty map.
  if (Array.isArray(error) && error.length === 0) return false;
  if (error === true || error === 1) return true;
  if (isObject(error) && typeof own(error, 'message') === 'string') return true;
  return typeof error === 'string' && !/^(0|false|no|none|ok)$/i.test(error.trim())
    ? true
    : undefined;
}

/** The places of a reason that hold text. */
function reasonsIn(body: Body): readonly string[] {
  const error = own(body, 'error');
  const places = [
    ...[own(body, 'message'), own(body, 'msg'), error],
    ...[isObject(error) ? own(error, 'message') : undefined, own(body, 'error_description')],
  ];
  return places.filter((text): text is string => typeof text === 'string');
}

/** An answer that its head does not settle: its JSON object, empty where there is none. */
interface Read {
  readonly status: number;
  readonly body: Body;
  /** Whether the body is JSON; unsure where that can be said or denied. */
  readonly isJson: boolean;
  readonly isSure: boolean;
  /** PHP's empty map. */
  readonly isEmptyList: boolean;
}

function readAnswer(answer: WireAnswer): Read | { ends: readonly End[] } {
  const head = endsByHead(answer);
  if (head !== undefined) return { ends: head };
  const { status } = answer;
  const read = readBody(answer.bytes);
  const value = read.kind === 'json' ? read.value : undefined;
  const isSure = read.kind !== 'json' || read.isSure;
  const isEmptyList = Array.isArray(value) && value.length === 0;
  const body = isObject(value) ? value : {};
  return { status, body, isJson: isObject(value), isSure, isEmptyList };
}

const open = (isSure: boolean): readonly End[] => (isSure ? [] : NEVER_NEGATIVE);
const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** How an answer without a payload ends, by its status and by whether it is an error. */
function withoutPayload(
  { status, body, isJson }: Read,
  statuses: readonly number[],
  rejected: readonly End[],
): readonly End[] {
  if (isTransient(status)) return ['service_unavailable'];
  if (statuses.includes(status)) return rejected;
  const isRead = isSuccess(status) || status === 400 || status === 422;
  if (!isJson || !isRead) return ['unexpected_response'];
  const error = saysError(body);
  // A reason that is blank may be taken for none.
  const isReason = reasonsIn(body).some((text) => text.trim() !== '');
  if (error === true || (isReason && error !== undefined)) return rejected;
  if (error === undefined || reasonsIn(body).length > 0)
    return [...rejected, 'unexpected_response'];
  return ['unexpected_response'];
}

/** The exchange: "400, 401, 403 or 422, or a 2xx with an error and no `access_token` → …". */
function judgeExchange(answer: WireAnswer): Judgement {
  const read = readAnswer(answer);
  if ('ends' in read) return read;
  const { body, isSure } = read;
  const token = own(body, 'access_token');
  const isToken = typeof token === 'string' && token.trim() !== '';
  const error = saysError(body);
  const without = withoutPayload(read, [400, 401, 403, 422], rejection(body));
  if (!isToken) {
    // A token that is no string but could be read as one.
    const perhaps: End[] = ['number', 'boolean'].includes(typeof token) ? ['positive'] : [];
    return { ends: [...without, ...perhaps, ...open(isSure)] };
  }
  if (error === true) return { ends: [...without, ...open(isSure)] };
  if (error === undefined) return { ends: ['positive', ...without, ...open(isSure)] };
  return { ends: ['positive', ...open(isSure)], value: token };
}

function rejection(body: Body): readonly End[] {
  const reasons = reasonsIn(body);
  const rejected = 'auth_key_rejected';
  const names = /(^|[^a-z])app[_\s-]?(id|secret)([^a-z]|$)/i;
  if (reasons.some((text) => names.test(text.slice(0, 900)))) return ['app_credentials_rejected'];
  // A sentence beyond what is read.
  return /\bapp|secret/i.test(reasons.join(' '))
    ? [rejected, 'app_credentials_rejected']
    : [rejected];
}

/** get_user_info: "401 or 403, or a 2xx with an error → …; a user who is gone (`[]`) → …". */
function judgeUser(answer: WireAnswer): Judgement {
  const read = readAnswer(answer);
  if ('ends' in read) return read;
  const { status, body, isSure, isEmptyList } = read;
  const user = own(body, 'user_info');
  const error = saysError(body);
  const without: End[] = [...withoutPayload(read, [401, 403], ['access_token_expired'])];
  const isGone = isEmptyList || (Array.isArray(user) && user.length === 0);
  // A user who is gone, beside words of a refusal: either may be said.
  const isRefused = without.includes('access_token_expired');
  if (isGone && isSuccess(status) && !isRefused) without.splice(0, without.length, 'login_failed');
  // A user in another shape: "not the documented shape", whatever the reason next to it.
  const isSettled = isTransient(status) || status === 401 || status === 403;
  const isBroken = isObject(user) && error !== true && !isSettled;
  if (isBroken && error === false) without.splice(0, without.length, 'unexpected_response');
  else if (isBroken) without.push('unexpected_response');
  const reading = isObject(user) ? readsAsUser(user) : 'no';
  if (reading === 'no' || error === true) return { ends: [...without, ...open(isSure)] };
  if (reading === 'open' || error === undefined) {
    return { ends: ['positive', ...without, ...open(isSure)] };
  }
  return { ends: ['positive', ...open(isSure)], value: user };
}

/** "How an answer is judged", section 2 of the contract. */
export const judgeLoginApi = (endpoint: LoginEndpoint, answer: WireAnswer): Judgement =>
  endpoint === 'authorize' ? judgeExchange(answer) : judgeUser(answer);
