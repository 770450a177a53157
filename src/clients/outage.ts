import { isMarketgateError } from '../errors.js';

/** Whether an error of a call means that the service is down. */
export const isOutage = async (error: unknown): Promise<boolean> =>
  isMarketgateError(error) &&
  error.code === 'service_unavailable' &&
  error.retryAfter === undefined;
