import type { Request } from 'express';
import { warnOnce } from '../../diagnostics.js';

/** The client's address: `req.ip`, or that of the socket where there is no Express. */
export const addressOf = (req: Request): string | undefined => req.ip ?? req.socket?.remoteAddress;

/**
 * Warns once when the app's `trust proxy` makes all visitors behind a proxy one client, or lets visitors
 * choose their address.
 */
export function checkProxy(req: Request): void {
  const trust: unknown = req.app?.get?.('trust proxy');
  if (trust === true) warnOnce('MARKETGATE_PERMISSIVE_TRUST_PROXY');
  else if (!trust && req.headers['x-forwarded-for'] !== undefined) {
    warnOnce('MARKETGATE_UNEXPECTED_X_FORWARDED_FOR');
  }
}
