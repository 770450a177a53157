import assert from 'node:assert/strict';
import fc from 'fast-check';
import { isFreshLogin, MarketplaceStrategy } from 'marketgate';
import { Passport } from 'passport';
import { expect, it } from 'vitest';
import { cookieBrowser, fakeLoginApi, longSecret } from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

// A random check of the login as a state machine: a visitor with several tabs, a stranger who sends callbacks of their own
// account and plants a session, what browsers send twice, old cookies, an app of two processes.

const SECOND = 1000;
const TEN_MINUTES = 600_000;
const PEOPLE = { mira: '3001', tomas: '3002' } as const;

type Where = 'session' | 'cookie';
type Step =
  | { do: 'start'; site: 'same-origin' | 'cross-site' }
  | { do: 'callback'; who: keyof typeof PEOPLE; waits: boolean }
  | {
      do: 'answer';
      page: number;
      answer: 'continue' | 'cancel';
      site: 'same-origin' | 'cross-site';
    }
  | { do: 'again'; request: number; isSamePlace: boolean }
  | { do: 'wait'; time: number }
  | { do: 'logout' | 'plant' };

const site = fc.constantFrom('same-origin' as const, 'cross-site' as const);
const STEP: fc.Arbitrary<Step & { process: 0 | 1 }> = fc
  .tuple(
    fc.oneof<fc.Arbitrary<Step>[]>(
      fc.record({ do: fc.constant('start' as const), site }),
      fc.record({
        do: fc.constant('callback' as const),
        who: fc.constantFrom('mira' as const, 'tomas' as const),
        waits: fc.boolean(),
      }),
      fc.record({
        do: fc.constant('answer' as const),
        page: fc.nat(3),
        answer: fc.constantFrom('continue' as const, 'cancel' as const),
        site,
      }),
      fc.record({
        do: fc.constant('again' as const),
        request: fc.nat(3),
        isSamePlace: fc.boolean(),
      }),
      fc.record({
        do: fc.constant('wait' as const),
        time: fc.constantFrom(SECOND, 20 * SECOND, 61 * SECOND, TEN_MINUTES),
      }),
      fc.record({ do: fc.constantFrom('logout' as const, 'plant' as const) }),
    ),
    fc.constantFrom(0 as const, 1 as const),
  )
  .map(([step, process]) => ({ ...step, process }));

/** Sessions as express-session keeps them, in a store that all processes share. */
function sessionsIn(store: Map<string, string>) {
  let count = 0;
  return (req: { sessionID?: string | undefined; session?: object }, sent: string | undefined) => {
    const begin = (id: string, text = '{}'): void => {
      const save = (done: () => void) => {
        store.set(id, JSON.stringify(session));
        done();
      };
      const regenerate = (done: () => void) => {
        store.delete(id);
        begin(`id${count++}`);
        done();
      };
      const methods = { save: { value: save }, regenerate: { value: regenerate } };
      const session = Object.defineProperties(JSON.parse(text), methods);
      Object.assign(req, { session, sessionID: id });
    };
    const found = sent === undefined ? undefined : store.get(sent);
    begin(found === undefined || sent === undefined ? `id${count++}` : sent, found);
  };
}

function world(where: Where) {
  let now = 1e12;
  let keys = 0;
  const store = new Map<string, string>();
  const openSession = sessionsIn(store);
  const exchanged: string[] = [];
  const processes = [0, 1].map(() => {
    const exchange = async (key: string) => {
      assert.ok(!exchanged.includes(key) || key.startsWith('spent'), 'an auth_key is sent once');
      exchanged.push(key);
      return { value: key, issuedAt: now, expiresAt: now + 3_600_000 };
    };
    const getUser = async (token: string) => ({ ...userInfo, user_id: token.split(' ')[0] });
    const { loginApi } = fakeLoginApi({ exchange, getUser });
    const passport = new Passport();
    passport.serializeUser((user, done) => done(null, user.id));
    passport.deserializeUser((id: string, done) => done(null, { id }));
    const loginAttempts = where === 'cookie' ? { cookieSecret: longSecret() } : undefined;
    const options = { loginApi, loginAttempts, clock: () => now, client: false } as const;
    passport.use(new MarketplaceStrategy(options, ({ profile }) => ({ id: profile.id })));
    return passport;
  });

  /** A browser with its cookies. */
  const newBrowser = () => cookieBrowser();
  type Browser = ReturnType<typeof newBrowser>;

  /** One request of a browser, by its cookies or by older ones: how it ends, and where it leads. */
  async function send(
    browser: Browser,
    query: object,
    from: string,
    process: number,
    cookie?: string,
  ) {
    const { req, res } = browser.request(query, { headers: { 'sec-fetch-site': from } });
    const header = cookie ?? req.headers.cookie;
    const request = Object.assign(req, {
      headers: { ...req.headers, cookie: header },
      session: undefined as object | undefined,
      sessionID: undefined as string | undefined,
    });
    const sent = /sid=s%3A(id\d+)/.exec(header)?.[1];
    openSession(request, sent);
    const passport = processes[process] ?? new Passport();
    const endings: string[] = [];
    await new Promise<void>((resolve) => {
      const end = (how: string) => {
        endings.push(how);
        setImmediate(resolve);
      };
      Object.assign(res, { end: () => end(res.headers.location ?? 'page') });
      const next = (error?: { status?: number }) => end(error ? `error ${error.status}` : 'next');
      passport.session()(request as never, res as never, () =>
        passport.authenticate('marketplace', { failWithError: true })(
          request as never,
          res as never,
          next,
        ),
      );
    });
    assert.equal(endings.length, 1, 'a request ends once');
    const { sessionID: id } = request;
    if (id !== undefined && id !== sent && store.has(id)) browser.cookies.sid = `s%3A${id}`;
    return { end: endings[0] ?? '', cookie: header, isFresh: isFreshLogin(request) };
  }

  const userOf = (browser: Browser): string | undefined => {
    const id = browser.cookies.sid?.replace('s%3A', '') ?? '';
    return JSON.parse(store.get(id) ?? '{}').passport?.user;
  };
  return {
    newBrowser,
    send,
    userOf,
    exchanged,
    newKey: (person: string) => `${person} ${keys++}`,
    forget: (browser: Browser) => store.delete(browser.cookies.sid?.replace('s%3A', '') ?? ''),
    now: () => now,
    pass: (time: number) => {
      now += time;
    },
  };
}

async function run(where: Where, steps: readonly (Step & { process: 0 | 1 })[]): Promise<void> {
  const { newBrowser, send, userOf, newKey, forget, now, pass } = world(where);
  const visitor = newBrowser();
  const stranger = newBrowser();
  const requests: {
    query: object;
    from: string;
    cookie: string;
    process: number;
    end: string;
    isFresh: boolean;
    at: number;
  }[] = [];
  /** Pages that asked, with the account that each names. */
  const pages: { id: string; person: string }[] = [];
  /** When the visitor's own logins began since the last that completed, and when another site's did. */
  let own: number[] = [];
  let foreign: number[] = [];
  let marked = Number.NEGATIVE_INFINITY;
  let isPlanted = false;
  const isLive = (at: number) => now() - at < TEN_MINUTES;

  /** Sends a request, and checks what it may change. */
  async function visit(
    query: { auth_key?: string; marketgate?: string; answer?: string },
    from: string,
    process: number,
    cookie?: string,
  ) {
    const before = userOf(visitor);
    const sent = await send(visitor, query, from, process, cookie);
    const after = userOf(visitor);
    const { auth_key: key, marketgate: id, answer } = query;
    const person = key?.split(' ')[0] ?? pages.find((page) => page.id === id)?.person;
    const asks = /^\?marketgate=([\w-]{22})$/.exec(sent.end)?.[1];
    if (asks && person) pages.push({ id: asks, person });
    const isContinue = answer === 'continue' && from === 'same-origin';
    if (after !== undefined && after !== before) {
      assert.equal(after, person, 'the account of the key or of the page is logged in');
      assert.ok(isContinue || key !== undefined, 'only a callback or "Continue" logs in');
      const isJoined = requests.some(
        ({ query: q, end }) => end === 'next' && JSON.stringify(q) === JSON.stringify(query),
      );
      if (!isContinue && !isPlanted && !isJoined) {
        assert.equal(before, undefined, 'nobody is replaced without being asked');
        assert.ok(own.some(isLive), 'a login has begun here');
        assert.ok(!isLive(marked), 'in a marked browser the visitor is asked');
      }
    }
    const isLogin = key !== undefined || (answer === 'continue' && from === 'same-origin');
    assert.ok(isLogin || !sent.isFresh, 'another site cannot answer, and "Not me" logs nobody in');
    if (sent.isFresh) {
      [own, foreign] = [[], []];
      marked = Number.NEGATIVE_INFINITY;
    }
    if (sent.end.startsWith('https:')) (from === 'cross-site' ? foreign : own).push(now());
    const hasAttempt = [...own, ...foreign].some(isLive);
    if (key !== undefined && sent.end === 'error 403' && !hasAttempt) marked = now();
    requests.push({ query, from, ...sent, process, at: now() });
    return sent;
  }

  for (const step of steps) {
    const { process } = step;
    if (step.do === 'start') {
      await visit({}, step.site, process);
    } else if (step.do === 'callback') {
      await visit({ auth_key: newKey(PEOPLE[step.who]) }, 'cross-site', process);
    } else if (step.do === 'answer') {
      const page = pages.at(-1 - step.page);
      if (page) await visit({ marketgate: page.id, answer: step.answer }, step.site, process);
    } else if (step.do === 'again') {
      const first = requests.at(-1 - step.request);
      if (first === undefined || Object.keys(first.query).length === 0) continue;
      const place = step.isSamePlace ? first.process : 1 - first.process;
      // The service refuses a used key, and this fake does not: only the process that has used it is asked again.
      if (place !== first.process && 'auth_key' in first.query) continue;
      const { end } = await visit(first.query, first.from, place, first.cookie);
      const hasSucceeded = first.isFresh || first.end.startsWith('?');
      const isSoon = now() - first.at < SECOND && first.cookie !== '';
      if (hasSucceeded && isSoon && place === first.process)
        assert.equal(end, first.end, 'what comes twice ends as it did first');
    } else if (step.do === 'wait') pass(step.time);
    else if (step.do === 'logout') {
      forget(visitor);
      visitor.cookies.sid = undefined;
      // What is in the session goes with it.
      if (where === 'session') {
        [own, foreign] = [[], []];
        marked = Number.NEGATIVE_INFINITY;
      }
    } else {
      // The stranger has begun a login, and gives the visitor their session.
      await send(stranger, {}, 'same-origin', process);
      if (where === 'session') Object.assign(visitor.cookies, stranger.cookies);
      isPlanted = where === 'session';
    }
  }

  // Whatever has happened, a visitor who comes later can log in.
  pass(TEN_MINUTES + 20 * SECOND);
  const key = newKey(PEOPLE.mira);
  await visit({}, 'same-origin', 0);
  const { end } = await visit({ auth_key: key }, 'cross-site', 0);
  const id = /^\?marketgate=([\w-]{22})$/.exec(end)?.[1];
  if (id !== undefined) await visit({ marketgate: id, answer: 'continue' }, 'same-origin', 1);
  assert.equal(userOf(visitor), PEOPLE.mira, 'a later login ends');
}

it.each(['session', 'cookie'] as const)(
  'whatever tabs, strangers and browsers do, with attempts in a %s, nobody is logged in unasked, and the visitor can log in',
  async (where) => {
    const runs = Number(process.env.FUZZ_CASES ?? 300);
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { maxLength: 14 }), async (steps) => {
        await run(where, steps);
      }),
      { numRuns: runs },
    );
    expect(runs).toBeGreaterThan(0);
  },
);
