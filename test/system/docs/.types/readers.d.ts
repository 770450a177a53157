// What the programs of the pages use: jest's globals (vitest's have the same shape), and the properties that
// they add to the user and the session.
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

  const describe: typeof import('vitest').describe;
  const it: typeof import('vitest').it;
  const expect: typeof import('vitest').expect;
  const beforeAll: typeof import('vitest').beforeAll;
  const afterAll: typeof import('vitest').afterAll;
}
