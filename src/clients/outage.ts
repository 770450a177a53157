import { isMarketgateError } from '../errors.js';
import { serviceStates } from '../http/http-client.js';

/**
 * Whether an error of a call means that the service is down: it could not be reached, timed out or answered 5xx, and the
 * client's probe (account/details, the same for all visitors, asked at most every few seconds) fails too. False for
 * every other error, also for a 429 and the backoff after it.
 */
export const isOutage = async (error: unknown): Promise<boolean> =>
  isMarketgateError(error) &&
  error.code === 'service_unavailable' &&
  (await serviceStates.get(error)?.()) === 'down';

/** Whether the service answers the client's probe as documented, so that an error is about what the visitor sent. */
export const isServing = async (error: unknown): Promise<boolean> =>
  (await serviceStates.get(Object(error))?.()) === 'up';
