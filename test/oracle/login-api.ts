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
  return typeof error === 'string' && !/^(0|false|no|none|ok)$/i.test(error.trim())
    ? true
    : undefined;
}

/** What comes of an answer whose body was no JSON object; `undefined` when it was one. */
function withoutBody(
  answer: WireAnswer,
): { ends: readonly End[] } | { body: Body; isSure: boolean } {
  const head = endsByHead(answer);
  if (head !== undefined) return { ends: head };
  const read = readBody(answer.bytes);
  if (read.kind === 'json' && isObject(read.value)) {
    return { body: read.value, isSure: read.isSure };
  }
  if (isTransient(answer.status)) return { ends: ['service_unavailable'] };
  // PHP's empty map: an object with nothing in it.
  const isEmpty = read.kind === 'json' && Array.isArray(read.value) && read.value.length === 0;
  return { ends: [isEmpty ? 'login_failed' : 'unexpected_response'] };
}

const open = (isSure: boolean): readonly End[] => (isSure ? [] : NEVER_NEGATIVE);

/** The exchange: "`{error, message}` or no `access_token` → `auth_key_rejected`, or …". */
function judgeExchange(answer: WireAnswer): Judgement {
  const found = withoutBody(answer);
  if ('ends' in found) {
    return { ends: found.ends.map((end) => (end === 'login_failed' ? 'auth_key_rejected' : end)) };
  }
  const { body, isSure } = found;
  const token = own(body, 'access_token');
  const isToken = typeof token === 'string' && token.trim() !== '';
  const error = saysError(body);
  const rejected = rejection(answer.status, body);
  if (!isToken) {
    // A token that is no string but could be read as one.
    const perhaps: End[] = ['number', 'boolean'].includes(typeof token) ? ['positive'] : [];
    return { ends: [...rejected, ...perhaps, ...open(isSure)] };
  }
  if (error === true) return { ends: [...rejected, ...open(isSure)] };
  if (error === undefined) return { ends: ['positive', ...rejected, ...open(isSure)] };
  return { ends: ['positive', ...open(isSure)], value: token };
}

function rejection(status: number, body: Body): readonly End[] {
  if (isTransient(status)) return ['service_unavailable'];
  const message = own(body, 'message');
  const error = own(body, 'error');
  const [said] = [message, error].filter((text) => typeof text === 'string');
  const rejected = 'auth_key_rejected';
  if (typeof said !== 'string') return [rejected];
  if (/(^|[^a-z])app[_\s-]?(id|secret)([^a-z]|$)/i.test(said.slice(0, 900)))
    return ['app_credentials_rejected'];
  // A sentence beyond what is read, or the second of two fields.
  const words = [message, error].filter((text) => typeof text === 'string').join(' ');
  return /\bapp|secret/i.test(words) ? [rejected, 'app_credentials_rejected'] : [rejected];
}

/** get_user_info: "refused → `access_token_expired`; a user who is gone (`[]`) → `login_failed`". */
function judgeUser(answer: WireAnswer): Judgement {
  const found = withoutBody(answer);
  if ('ends' in found) return found;
  const { body, isSure } = found;
  const user = own(body, 'user_info');
  const error = saysError(body);
  const without: End[] = [];
  if (isTransient(answer.status)) without.push('service_unavailable');
  else {
    const isRefused = error !== false || typeof own(body, 'message') === 'string';
    const isGone = Array.isArray(user) && user.length === 0;
    if (isRefused) without.push('access_token_expired');
    if (isGone) without.push('login_failed');
    // A user in another shape, beside words of a refusal: either may be said.
    if (isObject(user) && error !== true) without.push('unexpected_response');
    else if (!isRefused && !isGone) without.push('unexpected_response');
    // A status of refusal with a body that does not say so is named nowhere.
    if (!isRefused && [401, 403].includes(answer.status)) without.push('access_token_expired');
  }
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
