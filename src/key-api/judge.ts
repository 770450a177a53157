import { MarketgateError } from '../errors/marketgate-error.js';
import { type Answer, isOutage, unusable } from '../http/http-client.js';
import { redact } from '../http/redact.js';
import { isObject } from '../shape/is-object.js';
import type { Body, Endpoint } from './endpoints.js';

/** The service's *no*: nobody else's failure counts as one. */
export const NO = Symbol('the service said no');

const isError = (body: Body): boolean =>
  typeof body.status === 'string' && body.status.toLowerCase() === 'error';

/**
 * What an answer of interface A means. By its body first, for the specification shows no statuses:
 *
 * 1. a payload of the documented shape, and `status` not "error": the answer;
 * 2. 5xx, 408, 425, 429: could not find out (`service_unavailable`);
 * 3. `status: "error"` with the endpoint's documented `msg`, or HTTP 404 with a `msg` (of
 *    account/details also 401 and 403): *no*;
 * 4. another `msg`: the service understood and refused (`service_refused`);
 * 5. anything else: not the service speaking (`unexpected_response`).
 *
 * @param secrets what was sent, never to be repeated in an error.
 */
export function judge<T>(
  endpoint: Endpoint<T>,
  answer: Answer,
  secrets: readonly string[],
): T | typeof NO {
  const what = `${endpoint.method} ${endpoint.path}`;
  const body = asBody(answer);
  if (body === undefined) throw unusable(what, answer);

  const payload = isError(body) ? undefined : endpoint.payload(body);
  if (payload?.ok) return payload.value;
  if (isOutage(answer)) throw unusable(what, answer);
  if (isNo(endpoint, answer.status, body)) return NO;
  if (payload !== undefined) {
    throw new MarketgateError(
      'unexpected_response',
      `${what}: the answer is not of the documented shape: ${redact(payload.problem, secrets)}`,
    );
  }
  if (typeof body.msg === 'string') {
    throw new MarketgateError(
      'service_refused',
      `${what}: the service refused (HTTP ${answer.status}): "${redact(body.msg, secrets)}"`,
    );
  }
  throw unusable(what, answer);
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
