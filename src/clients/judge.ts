import { MarketgateError } from '../errors.js';
import { redact } from '../http/failure.js';
import type { Answer } from '../http/meanings.js';
import { describeUnusable, isNotNow, MEANINGS } from '../http/meanings.js';
import { isObject } from '../shape/is-object.js';
import type { Shaped } from '../shape/read-shape.js';
import type { Asked, Body, Endpoint } from './endpoints.js';
import type { Judging } from './load-readers.js';

/** The service's *no*: nobody else's failure counts as one. */
export const NO = Symbol('the service said no');

const isError = (body: Body): boolean =>
  typeof body.status === 'string' && body.status.toLowerCase() === 'error';

/** The kinds of answer that interface A knows, but for the one that everybody hopes for. */
type Kind = 'notNow' | 'notJson' | 'no' | 'misshapen' | 'refusal' | 'withoutPayload';

/**
 * What an answer of interface A means, by the table in {@link MEANINGS}.
 *
 * @param asked what was asked for: an answer about anything else is none.
 * @param secrets what was sent, never to be repeated in an error.
 * @param reading what reading the payload needs; a long payload is read in slices, hence the promise.
 * @throws MarketgateError, for all that is neither the answer nor a *no*.
 */
export function judge<T>(
  endpoint: Endpoint<T>,
  asked: Asked,
  answer: Answer,
  secrets: readonly string[],
  reading: Judging,
): T | typeof NO | Promise<T | typeof NO> {
  const body = asBody(answer);
  const payload = body === undefined || isError(body) ? undefined : endpoint.payload(body, reading);
  return payload instanceof Promise
    ? payload.then((read) => judgeBody(endpoint, asked, answer, body, read, secrets))
    : judgeBody(endpoint, asked, answer, body, payload, secrets);
}

function judgeBody<T>(
  endpoint: Endpoint<T>,
  asked: Asked,
  answer: Answer,
  body: Body | undefined,
  payload: Shaped<T> | undefined,
  secrets: readonly string[],
): T | typeof NO {
  if (payload?.ok && !(isEmptyList(payload.value) && isNotNow(answer))) {
    if (endpoint.isAbout?.(payload.value, asked) !== false) return payload.value;
    throw new MarketgateError(
      MEANINGS.otherQuestion[endpoint.column],
      `${endpoint.method} ${endpoint.path}: the answer is about something else than was asked for; check what stands in front of the service`,
    );
  }
  const kind = kindOf(endpoint, answer, body, payload);
  const meaning = MEANINGS[kind][endpoint.column];
  if (meaning === 'no') return NO;
  const clean = (text: unknown): string => redact(String(text), secrets);
  const problem =
    kind === 'refusal'
      ? `the service refused (HTTP ${answer.status}): "${clean(body?.msg)}"`
      : kind === 'no'
        ? 'the service does not know this api_key; generate one in the workspace settings and put it in "apiKey"'
        : describeUnusable(answer, payload?.ok === false ? clean(payload.problem) : undefined);
  throw new MarketgateError(meaning, `${endpoint.method} ${endpoint.path}: ${problem}`);
}

/** At a status that says "not now", an empty list is not the catalogue. */
const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

function kindOf(
  endpoint: Endpoint<unknown>,
  answer: Answer,
  body: Body | undefined,
  payload: Shaped<unknown> | undefined,
): Kind {
  if (isNotNow(answer)) return 'notNow';
  if (body === undefined) return 'notJson';
  if (isNo(endpoint, answer.status, body)) return 'no';
  if (payload !== undefined) return 'misshapen';
  return typeof body.msg === 'string' ? 'refusal' : 'withoutPayload';
}

function asBody({ body }: Answer): Body | undefined {
  return body.isJson && isObject(body.value) ? body.value : undefined;
}

function isNo(endpoint: Endpoint<unknown>, status: number, body: Body): boolean {
  if (typeof body.msg !== 'string') return false;
  // A translated deployment says everything in its own words; the status is then all there is to go by.
  if (endpoint.noStatuses.includes(status)) return true;
  return isError(body) && body.msg.toLowerCase() === endpoint.no.toLowerCase();
}
