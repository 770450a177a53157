/**
 * Prints the walks through the house: the files and functions of `src` that run for one guard hit, one guard miss, one
 * miss with Redis and one login callback. Measured with V8's precise coverage, after one request of the same kind has
 * loaded and compiled everything. `npm run walks`; `npm run walks -- --functions` names the functions too.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Session } from 'node:inspector/promises';
import type { AddressInfo } from 'node:net';
import { relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import express from 'express';
import session from 'express-session';
import {
  KeyApi,
  LoginApi,
  MarketplaceStrategy,
  MemoryTokenStore,
  requirePurchase,
  returnTo,
} from 'marketgate';
import { RedisCache, RedisGuessLimit } from 'marketgate/redis';
import { createSandbox } from 'marketgate/sandbox';
import { Passport } from 'passport';
import { createClient } from 'redis';
import { Browser } from '../support/browser.js';
import { REDIS_SERVER, startRedis } from '../support/redis-server.js';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));

const inspector = new Session();
inspector.connect();
await inspector.post('Profiler.enable');
await inspector.post('Debugger.enable');
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

async function walk(name: string, run: () => Promise<unknown>): Promise<void> {
  await inspector.post('Profiler.takePreciseCoverage');
  await run();
  // What goes on behind the response counts too.
  await setTimeout(100);
  const { result } = await inspector.post('Profiler.takePreciseCoverage');
  const files = new Map<string, string[]>();
  for (const { url, scriptId, functions } of result) {
    if (!url.startsWith('file:')) continue;
    const file = relative(SRC, fileURLToPath(url.replace(/\?.*$/, '')));
    if (file.startsWith('..') || file.startsWith('sandbox/')) continue;
    // Not what tsx and V8 add: the helper `__name`, and one function for the fields of each class.
    const called = functions.filter(
      ({ functionName, ranges }) =>
        (ranges[0]?.count ?? 0) > 0 && !/^(__name|<.*>)$/.test(functionName),
    );
    if (called.length === 0) continue;
    const { scriptSource } = await inspector.post('Debugger.getScriptSource', { scriptId });
    // An arrow function has no name here, so the start of its text stands for it.
    const nameOf = ({ functionName, ranges }: (typeof called)[0]): string =>
      functionName || scriptSource.slice(ranges[0]?.startOffset).slice(0, 40);
    files.set(file, called.map(nameOf));
  }
  const count = [...files.values()].flat().length;
  console.log(`\n${name}: ${files.size} files, ${count} functions`);
  for (const [file, names] of files) {
    const detail = process.argv.includes('--functions')
      ? ['', ...names].join('\n    ')
      : ` ${names.length}`;
    console.log(`  ${file}${detail}`);
  }
}

const sandbox = createSandbox();
const { baseUrl, authUrl, apiKey, appId, appSecret } = await sandbox.listen(0);
const keyApi = new KeyApi({ baseUrl, apiKey });
const loginApi = new LoginApi({ authUrl, appId, appSecret });
const tokenStore = new MemoryTokenStore();
const passport = new Passport();
passport.serializeUser((user, done) => done(null, user));
passport.deserializeUser((user: Express.User, done) => done(null, user));
passport.use(
  new MarketplaceStrategy({ loginApi, tokenStore }, async ({ profile }) => ({ id: profile.id })),
);

const app = express();
app.get('/file', requirePurchase(keyApi), (_req, res) => void res.send('the file'));
const redis = REDIS_SERVER === undefined ? undefined : await startRedis();
const client = redis && (await createClient({ url: redis.url }).connect());
const subscriber = client && (await client.duplicate().connect());
const shared = subscriber && new RedisCache({ client, subscriber });
const guessLimit = client && new RedisGuessLimit({ client });
const sharing = shared && new KeyApi({ baseUrl, apiKey, cache: { shared }, guessLimit });
if (sharing) app.get('/shared', requirePurchase(sharing), (_req, res) => void res.send('it'));
app.use(session({ secret: 'only-for-this-walk', resave: false, saveUninitialized: false }));
app.get('/login', passport.authenticate('marketplace'));
app.get('/callback', passport.authenticate('marketplace'), (req, res) =>
  res.redirect(returnTo(req) ?? '/'),
);
const server = createServer(app).listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
sandbox.redirectUrl = `${origin}/callback`;

const codes = sandbox.data.purchases.map((purchase) => purchase.purchase_code);
const ask = (code: string | undefined, path = '/file') =>
  fetch(origin + path, { headers: { 'x-purchase-code': code ?? '' } }).then((r) => r.text());
/** Goes to the callback as a browser does, and stops there. */
async function callback(browser: Browser): Promise<() => Promise<unknown>> {
  const url = await browser.logInUpToCallback(`${origin}/login`);
  return () => browser.get(url);
}

await ask(codes[0]);
await ask(codes[0]);
await (await callback(new Browser()))();
await walk('guard hit', () => ask(codes[0]));
await walk('guard miss', () => ask(codes[1]));
if (sharing) {
  await ask(codes[0], '/shared');
  await walk('guard miss with Redis', () => ask(codes[1], '/shared'));
} else console.log('\nguard miss with Redis: not measured, there is no redis-server');
await walk('login callback', await callback(new Browser()));

await inspector.post('Profiler.stopPreciseCoverage');
inspector.disconnect();
server.close();
await Promise.all([keyApi.close(), sharing?.close(), loginApi.close(), sandbox.close()]);
client?.destroy();
subscriber?.destroy();
await redis?.stop();
