import type { IncomingMessage, ServerResponse } from 'node:http';
import session from 'express-session';
import { MarketgateError, MarketplaceStrategy } from 'marketgate';
import { Passport } from 'passport';
import { describe, expect, it } from 'vitest';
import { Browser } from '../../support/browser.js';
import { expressVersions } from '../../support/express-versions.js';
import { allowNoUnhandledRejection } from '../../support/hear.js';
import { listen } from '../../support/listen.js';
import { fakeLoginApi, longSecret } from '../../support/strategy-harness.js';

// A callback of the app, as in `authenticate('marketplace', callback)`, that throws: the process goes on, and
// the visitor gets a response.

type Callback = (error: unknown, user?: { id: string } | false | null) => void;

/** Fails for an error and for a failed login, as an app does that expects a user. */
const careless =
  (res: ServerResponse): Callback =>
  (_error, user) =>
    res.end((user as { id: string }).id.trim());

function passportWith(api: Parameters<typeof fakeLoginApi>[0] = {}) {
  const { loginApi } = fakeLoginApi(api);
  const passport = new Passport();
  passport.serializeUser((user, done) => done(null, user));
  passport.use(new MarketplaceStrategy({ loginApi }, ({ profile }) => ({ id: profile.id })));
  return passport;
}

const outage = () => Promise.reject(new MarketgateError('service_unavailable', 'down'));

/** Each visit, from the start on: where the callback of the app throws. */
const CASES: [string, Parameters<typeof fakeLoginApi>[0], string[]][] = [
  ['a failed login', {}, ['/?auth_key=x']],
  ['an outage of the service', { exchange: outage }, ['/', '/?auth_key=k1']],
];

allowNoUnhandledRejection();

describe.each(CASES)('after %s', (_name, api, paths) => {
  async function visit(origin: string): Promise<Response> {
    const browser = new Browser();
    for (const path of paths.slice(0, -1)) await browser.get(`${origin}${path}`);
    return browser.get(`${origin}${paths.at(-1)}`);
  }

  it.each(expressVersions)('%s handles the error', async (_version, express) => {
    const passport = passportWith(api);
    const app = express();
    app.use(session({ secret: longSecret(), resave: false, saveUninitialized: false }));
    const routes = express.Router();
    routes.get('/', (req, res, next) => {
      passport.authenticate('marketplace', careless(res))(req, res, next);
    });
    app.use(routes);
    app.use((error: Error, _req: object, res: ServerResponse, _next: object) => {
      res.statusCode = 500;
      res.end(`handled: ${error.name}`);
    });
    const response = await visit(await listen(app));
    expect([response.status, await response.text()]).toEqual([500, 'handled: TypeError']);
  });

  it('Node alone responds with 500 and prints the error', async () => {
    const passport = passportWith(api);
    const use = session({ secret: longSecret(), resave: false, saveUninitialized: false });
    const origin = await listen((req: IncomingMessage, res: ServerResponse) => {
      const next = () => void res.end('next');
      use(req as never, res as never, () => {
        passport.authenticate('marketplace', careless(res))(req as never, res as never, next);
      });
    });
    const response = await visit(origin);
    expect([response.status, await response.text()]).toEqual([500, 'Internal Server Error']);
    expect(console.error).toHaveBeenCalledExactlyOnceWith(expect.any(TypeError));
  });
});

it('what a handler behind a login on Node alone throws is a 500', async () => {
  const passport = passportWith();
  const use = session({ secret: longSecret(), resave: false, saveUninitialized: false });
  const origin = await listen((req, res) => {
    use(req as never, res as never, () => {
      passport.authenticate('marketplace')(req as never, res as never, () => {
        throw new Error('of the handler');
      });
    });
  });
  const browser = new Browser();
  await browser.get(origin);
  expect((await browser.get(`${origin}/?auth_key=k1`)).status).toBe(500);
  const error = expect.objectContaining({ message: 'of the handler' });
  expect(console.error).toHaveBeenCalledExactlyOnceWith(error);
});
