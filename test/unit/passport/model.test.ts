import assert from 'node:assert/strict';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import session, { MemoryStore } from 'express-session';
import fc from 'fast-check';
import { isFreshLogin, MarketplaceStrategy } from 'marketgate';
import { expect, it } from 'vitest';
import {
  cookieBrowser,
  fakeLoginApi,
  giveId,
  longSecret,
  passportWith,
} from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

// A random check of the login as a state machine: a visitor with several tabs, a stranger who sends callbacks of their own
// account and plants a session, what browsers send twice, old cookies, an app of two processes.

const TEN_MINUTES = 600_000;
const STEP = fc.record({
  do: fc.constantFrom('start', 'callback', 'answer', 'again', 'wait', 'logout', 'plant'),
  from: fc.constantFrom('same-origin', 'cross-site'),
  person: fc.constantFrom('mira', 'tomas'),
  /** Which of the pages or requests, from the newest. */
  nth: fc.nat(3),
  answer: fc.constantFrom('continue', 'cancel'),
  seconds: fc.constantFrom(1, 20, 61, 600),
  process: fc.constantFrom(0, 1),
});

/** An app of two processes, and the time. */
function openWorld(where: string) {
  const world = { now: 1e12 };
  const exchanged = new Set<string>();
  const exchange = async (value: string) => {
    assert.ok(!exchanged.has(value), 'an auth_key is sent once');
    exchanged.add(value);
    return { value, issuedAt: world.now, expiresAt: world.now + 3_600_000 };
  };
  const getUser = async (token: string) => ({ ...userInfo, user_id: token.split(' ')[0] });
  const options = { secret: longSecret(), resave: false, saveUninitialized: false };
  const openSession = session({ ...options, store: new MemoryStore() });
  const processes = [0, 1].map(() => {
    const { loginApi } = fakeLoginApi({ exchange, getUser });
    const loginAttempts = where === 'cookie' ? { cookieSecret: longSecret() } : undefined;
    const options = { loginApi, loginAttempts, clock: () => world.now, client: false } as const;
    return passportWith(new MarketplaceStrategy(options, giveId));
  });

  function newBrowser() {
    const { cookies, request } = cookieBrowser();
    /** One request, by the browser's cookies or by older ones: how it ends, and where it leads. */
    async function send(handler: RequestHandler, query: object = {}, headers: object = {}) {
      const given = request(query, { headers });
      const [req, res] = [given.req as never as Request, given.res as never as Response];
      const ends: string[] = [];
      await new Promise<void>((resolve) => {
        let how = 'page';
        const end = (): void => {
          res.writeHead(200);
          ends.push(given.res.headers.location ?? how);
          setImmediate(resolve);
        };
        const _implicitHeader = () => res.writeHead(200);
        Object.assign(res, { writeHead() {}, write() {}, _implicitHeader, end });
        const next = (error?: { status?: number }): void => {
          how = error ? `error ${error.status}` : 'next';
          res.end();
        };
        const handle = () => handler(req, res, next as NextFunction);
        openSession(req, res, () => processes[0]?.session()(req, res, handle));
      });
      assert.equal(ends.length, 1, 'a request ends once');
      return { end: ends[0] ?? '', cookie: req.headers.cookie, isFresh: isFreshLogin(req), req };
    }
    return {
      cookies,
      logIn(query: object, from: string, process: number, cookie?: string) {
        const passport = processes[process] as (typeof processes)[0];
        const handler = passport.authenticate('marketplace', { failWithError: true });
        return send(handler, query, {
          'sec-fetch-site': from,
          ...(cookie !== undefined && { cookie }),
        });
      },
      user: async () => (await send((_req, _res, next) => next())).req.user?.id,
      async logOut(): Promise<void> {
        await send((req, _res, next) => void req.session.destroy(next));
        delete cookies['connect.sid'];
      },
    };
  }
  return Object.assign(world, { newBrowser });
}

interface Query {
  auth_key?: string;
  marketgate?: string;
  answer?: string;
}

async function run(
  where: string,
  steps: (typeof STEP extends fc.Arbitrary<infer S> ? S : never)[],
) {
  const world = openWorld(where);
  const visitor = world.newBrowser();
  const stranger = world.newBrowser();
  type Sent = Awaited<ReturnType<typeof visitor.logIn>>;
  const requests: (Sent & { query: Query; from: string; process: number; at: number })[] = [];
  /** Pages that asked, with the account that each names. */
  const pages: { id: string; person: string }[] = [];
  /** The visitor's own logins since the last that completed, those of another site, and the last stranger's callback. */
  const none = { own: [] as number[], foreign: [] as number[], marked: Number.NEGATIVE_INFINITY };
  let begun = structuredClone(none);
  let isPlanted = false;
  let keys = 0;
  const newKey = (person: string): string => `${person} ${keys++}`;
  const isLive = (at: number): boolean => world.now - at < TEN_MINUTES;
  const askedIn = (end: string) => /^\?marketgate=([\w-]{22})$/.exec(end)?.[1];

  /** Sends a request of the visitor's browser, and checks what it may change. */
  async function visit(query: Query, from: string, process: number, cookie?: string) {
    const before = await visitor.user();
    const sent = await visitor.logIn(query, from, process, cookie);
    const after = await visitor.user();
    const { auth_key: key, marketgate: id, answer } = query;
    const person = key?.split(' ')[0] ?? pages.find((page) => page.id === id)?.person;
    const asks = askedIn(sent.end);
    if (asks && person) pages.push({ id: asks, person });
    const isContinue = answer === 'continue' && from === 'same-origin';
    assert.ok(key || isContinue || !sent.isFresh, 'only a callback or "Continue" logs in');
    if (after !== undefined && after !== before) {
      assert.ok(key || isContinue, 'only a callback or "Continue" changes who is logged in');
      assert.equal(after, person, 'the account of the key or of the page is logged in');
      const isJoined = requests.some(
        ({ query: q, end }) => end === 'next' && JSON.stringify(q) === JSON.stringify(query),
      );
      if (!isContinue && !isPlanted && !isJoined) {
        assert.equal(before, undefined, 'nobody is replaced without being asked');
        assert.ok(begun.own.some(isLive), 'a login has begun here');
        assert.ok(!isLive(begun.marked), 'in a marked browser the visitor is asked');
      }
    }
    if (sent.isFresh) begun = structuredClone(none);
    if (sent.end.startsWith('https:'))
      begun[from === 'cross-site' ? 'foreign' : 'own'].push(world.now);
    const hasAttempt = [...begun.own, ...begun.foreign].some(isLive);
    if (key && sent.end === 'error 403' && !hasAttempt) begun.marked = world.now;
    requests.push({ ...sent, query, from, process, at: world.now });
    return sent.end;
  }

  for (const { do: what, from, person, nth, answer, seconds, process } of steps) {
    if (what === 'start') await visit({}, from, process);
    if (what === 'callback') await visit({ auth_key: newKey(person) }, 'cross-site', process);
    const page = pages.at(-1 - nth);
    if (what === 'answer' && page) await visit({ marketgate: page.id, answer }, from, process);
    const first = requests.at(-1 - nth);
    if (what === 'again' && first && Object.keys(first.query).length > 0) {
      // The service refuses a used key, and this fake does not: only the process that has used it is asked again.
      const place = 'auth_key' in first.query ? first.process : process;
      const end = await visit(first.query, first.from, place, first.cookie);
      const isSoon = world.now - first.at < 1000 && first.cookie !== '' && place === first.process;
      if (isSoon && (first.isFresh || first.end.startsWith('?')))
        assert.equal(end, first.end, 'what comes twice ends as it did first');
    }
    if (what === 'wait') world.now += seconds * 1000;
    if (what === 'logout') {
      await visitor.logOut();
      // What is in the session goes with it.
      if (where === 'session') begun = structuredClone(none);
    }
    if (what === 'plant' && where === 'session') {
      // The stranger has begun a login, and gives the visitor their session.
      await stranger.logIn({}, 'same-origin', process);
      Object.assign(visitor.cookies, stranger.cookies);
      isPlanted = true;
    }
  }

  // Whatever has happened, a visitor who comes later can log in.
  world.now += TEN_MINUTES + 20_000;
  await visit({}, 'same-origin', 0);
  const asks = askedIn(await visit({ auth_key: newKey('mira') }, 'cross-site', 0));
  if (asks) await visit({ marketgate: asks, answer: 'continue' }, 'same-origin', 1);
  assert.equal(await visitor.user(), 'mira', 'a later login ends');
}

it.each(['session', 'cookie'])(
  'whatever tabs, strangers and browsers do, with attempts in a %s, nobody is logged in unasked, and the visitor can log in',
  async (where) => {
    const numRuns = Number(process.env.FUZZ_CASES ?? 100);
    const property = fc.asyncProperty(fc.array(STEP, { maxLength: 14 }), (steps) =>
      run(where, steps),
    );
    await expect(fc.assert(property, { numRuns })).resolves.toBeUndefined();
  },
);
