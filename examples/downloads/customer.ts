import type { Request } from 'express';
import type { MarketplaceProfile } from 'marketgate';

/** Who is logged in, as it lies in the session. */
export interface Customer {
  /** The marketplace's `user_id`: licences belong to it, never to an e-mail. */
  id: string;
  name: string;
}

declare module 'express-session' {
  interface SessionData {
    /** Told on the next page, once. */
    notice?: string;
  }
}

export const customerFrom = (profile: MarketplaceProfile): Customer => ({
  id: profile.id,
  name: profile.displayName ?? profile.username ?? `Customer ${profile.id}`,
});

export const customerOf = (req: Request): Customer | undefined => req.user as Customer | undefined;

/** Sends the browser on, with words for the next page; saved first, for the browser is quick. */
export function goOn(req: Request, to: string, notice: string, next: (error?: unknown) => void) {
  req.session.notice = notice;
  req.session.save((error) => (error ? next(error) : req.res?.redirect(303, to)));
}
