// What the apps of the documentation's readers have beside the package: jest's globals (vitest's have the
// same shape), and what they put on the user and into the session.
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
      name?: string;
    }
  }

  const describe: typeof import('vitest').describe;
  const it: typeof import('vitest').it;
  const expect: typeof import('vitest').expect;
  const beforeAll: typeof import('vitest').beforeAll;
  const afterAll: typeof import('vitest').afterAll;
}
