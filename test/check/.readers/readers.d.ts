// The properties that the programs of the pages add to the user and the session.
import 'express-session';

declare module 'express-session' {
  interface SessionData {
    purchase_code: string;
  }
}

declare global {
  namespace Express {
    interface User {
      id: string;
      name?: string | undefined;
      marketplaceId?: string | null;
    }
    interface Request {
      /** From `passport.authorize`. */
      account?: User;
    }
  }
}
