// A subject: an Express app with one guarded route, whose cache knows every code that will come.
import { codeOf } from '../fixtures/catalogue.mjs';
import { listenOn } from './listen-on.mjs';

/** Codes of customers who come back. */
export const CODES = Array.from({ length: 200 }, (_, i) => codeOf(i + 1));

/**
 * The app, and one whose route is bare.
 * @param {{ guard: string, express: string, service: string, codes?: string[] }} options
 */
export default async function makeServer({ guard, express, service, codes = CODES, ...more }) {
  const { default: makeExpress } = await import(express);
  const { default: makeGuard } = await import(`./guards/${guard}.mjs`);
  const { middleware, itemOf } = await makeGuard({ service, codes, ...more });
  // Two apps, so that neither looks through the routes of the other.
  const [app, bare] = [makeExpress(), makeExpress()];
  if (middleware) app.get('/download', middleware);
  app.get('/download', (req, res) => res.json({ item: itemOf(req), file: 'harbour.zip' }));
  bare.get('/download', (_req, res) => res.json({ item: 1042, file: 'harbour.zip' }));
  const { url } = await listenOn(app, '/download');
  const { url: bareUrl } = await listenOn(bare, '/download');
  return { url, bareUrl };
}
