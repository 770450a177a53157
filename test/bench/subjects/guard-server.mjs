// A subject: an Express app with one guarded route, whose cache knows every code that will come.
import { codeOf } from '../fixtures/catalogue.mjs';
import { listenOn } from './listen-on.mjs';

/** Codes of customers who come back. */
export const CODES = Array.from({ length: 200 }, (_, i) => codeOf(i + 1));

/** @param {{ guard: string, express: string, service: string, codes?: string[] }} options */
export default async function makeServer({ guard, express, service, codes = CODES, ...more }) {
  const { default: makeExpress } = await import(express);
  const { default: makeGuard } = await import(`./guards/${guard}.mjs`);
  const { middleware, itemOf } = await makeGuard({ service, codes, ...more });
  const app = makeExpress();
  if (middleware) app.get('/download', middleware);
  app.get('/download', (req, res) => res.json({ item: itemOf(req), file: 'harbour.zip' }));
  return listenOn(app, '/download');
}
