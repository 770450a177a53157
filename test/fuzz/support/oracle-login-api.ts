import { isNotNow, isOutage, NEVER_A_NO, readBody, type Verdict, verdictOfHead } from './oracle.js';
import { isObject, readsAsUser } from './oracle-shape.js';
import type { FuzzedAnswer } from './wire-answer.js';

type Body = Record<string, unknown>;

const own = (body: Body, name: string): unknown =>
  Object.hasOwn(body, name) ? body[name] : undefined;

/** Whether a body says that it is an error: surely, surely not, or in some way of its own. */
function saysError(body: Body): boolean | undefined {
  const error = own(body, 'error');
  if ([undefined, null, false, 0, ''].includes(error as never)) return false;
  if (error === true || error === 1) return true;
  return typeof error === 'string' && !/^(0|false|no|none|ok)$/i.test(error.trim())
    ? true
    : undefined;
}

/** What comes of an answer whose body was no JSON object; `undefined` when it was one. */
function withoutBody(
  answer: FuzzedAnswer,
): { verdicts: readonly Verdict[] } | { body: Body; isSure: boolean } {
  const head = verdictOfHead(answer);
  if (head !== undefined) return { verdicts: head };
  const read = readBody(answer.bytes);
  if (read.kind === 'json' && isObject(read.value)) {
    return { body: read.value, isSure: read.isSure };
  }
  if (isOutage(answer.status)) return { verdicts: ['service_unavailable'] };
  if (isNotNow(answer.status)) {
    return { verdicts: [...NEVER_A_NO, 'auth_key_rejected', 'login_failed'] };
  }
  if (read.kind === 'other') return { verdicts: ['unexpected_response'] };
  // JSON of another kind has "no access_token", and is not "the documented shape" either.
  const isEmptyList = Array.isArray(read.value) && read.value.length === 0;
  if (isEmptyList) return { verdicts: ['auth_key_rejected', 'login_failed'] };
  return { verdicts: ['unexpected_response', 'auth_key_rejected'] };
}

const open = (isSure: boolean): readonly Verdict[] => (isSure ? [] : NEVER_A_NO);

/** The exchange: "`{error, message}` or no `access_token` → `auth_key_rejected`, or …". */
export function exchangeByContract(answer: FuzzedAnswer): {
  verdicts: readonly Verdict[];
  value?: string;
} {
  const found = withoutBody(answer);
  if ('verdicts' in found) return found;
  const { body, isSure } = found;
  const token = own(body, 'access_token');
  const isToken = typeof token === 'string' && token.trim() !== '';
  const error = saysError(body);
  const rejected = rejection(answer.status, body);
  if (!isToken) {
    // A token that is no string but could be read as one.
    const perhaps = typeof token === 'number' || typeof token === 'boolean' ? ['answer'] : [];
    return { verdicts: [...rejected, ...perhaps, ...open(isSure)] };
  }
  if (error === true) return { verdicts: [...rejected, ...open(isSure)] };
  if (error === undefined) return { verdicts: ['answer', ...rejected, ...open(isSure)] };
  return { verdicts: ['answer', ...open(isSure)], value: token };
}

function rejection(status: number, body: Body): readonly Verdict[] {
  if (isOutage(status)) return ['service_unavailable'];
  const message = own(body, 'message');
  const error = own(body, 'error');
  const [said] = [message, error].filter((text) => typeof text === 'string');
  const verdict = 'auth_key_rejected';
  if (isNotNow(status)) return [...NEVER_A_NO, verdict, 'app_credentials_rejected'];
  if (typeof said !== 'string') return [verdict];
  if (/\bapp_(id|secret)\b/.test(said.slice(0, 900))) return ['app_credentials_rejected'];
  // Another spelling ("app id"), or a sentence in which the second of two fields has it.
  const words = [message, error].filter((text) => typeof text === 'string').join(' ');
  return /app|secret/i.test(words) ? [verdict, 'app_credentials_rejected'] : [verdict];
}

/** get_user_info: "refused → `access_token_expired`; a user who is gone (`[]`) → `login_failed`". */
export function userByContract(answer: FuzzedAnswer): {
  verdicts: readonly Verdict[];
  value?: unknown;
} {
  const found = withoutBody(answer);
  if ('verdicts' in found) {
    const others = found.verdicts.filter((verdict) => verdict !== 'auth_key_rejected');
    return { verdicts: others };
  }
  const { body, isSure } = found;
  const user = own(body, 'user_info');
  const error = saysError(body);
  const without: Verdict[] = [];
  if (isOutage(answer.status)) without.push('service_unavailable');
  else {
    if (isNotNow(answer.status)) without.push(...NEVER_A_NO);
    const isRefused = error !== false || typeof own(body, 'message') === 'string';
    const isGone = Array.isArray(user);
    if (isRefused) without.push('access_token_expired');
    if (isGone) without.push('login_failed');
    // A status of refusal with a body that does not say so is named nowhere.
    if (!isRefused && [401, 403].includes(answer.status)) without.push('access_token_expired');
    if (isObject(user)) without.push('unexpected_response');
    if (!isRefused && !isGone) without.push('unexpected_response');
    if (Object.keys(body).length === 0) without.push('login_failed');
  }
  const reading = isObject(user) ? readsAsUser(user) : 'no';
  if (reading === 'no' || error === true) return { verdicts: [...without, ...open(isSure)] };
  if (reading === 'open' || error === undefined) {
    return { verdicts: ['answer', ...without, ...open(isSure)] };
  }
  return { verdicts: ['answer', ...open(isSure)], value: user };
}
