import type { Response } from 'express';
import { MarketgateError } from '../errors.js';

/**
 * Runs `run` with a signal that is aborted when the visitor leaves before the response has ended: a
 * request to the service that nobody waits for must not hold a connection.
 */
export async function whileThere<T>(
  res: Response,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const leaving = new AbortController();
  const onClose = (): void => {
    const left = 'the visitor left before the service had answered';
    leaving.abort(new MarketgateError('service_unavailable', left));
  };
  if (res.closed) onClose();
  else res.once('close', onClose);
  try {
    return await run(leaving.signal);
  } finally {
    res.off('close', onClose);
  }
}
