import { startProcess } from '../harness/process.mjs';

const CPU = { name: 'cpu', title: 'CPU per login, µs', limit: 'passport-oauth2, its own exchange' };
const [WARM_UP, LOGINS] = [800, 1200];

export default {
  name: 'login',
  title: 'Login round trip',
  about: `A browser starts a login and comes back: Express 5, express-session, key exchanged, user asked for. The limit is
passport-oauth2 with its own client and the same two calls; marketgate also keeps the token and uses a key once.`,
  variants: {
    'passport-oauth2, its own exchange': { strategy: 'passport-oauth2' },
    marketgate: { strategy: 'marketgate' },
  },
  async open() {
    const service = await startProcess('fixtures/service.mjs');
    const browsers = await startProcess('harness/log-in.mjs');
    return {
      browsers,
      service: await service.ask('url'),
      close: () => Promise.all([service.stop(), browsers.stop()]),
    };
  },
  async measure(options, { browsers, service }) {
    const server = await startProcess('subjects/login-server.mjs', { ...options, service });
    try {
      const url = await server.ask('url');
      await browsers.ask('send', { url, amount: WARM_UP });
      const begun = await server.ask('cpu');
      const answer = await browsers.ask('send', { url, amount: LOGINS });
      return { cpu: ((await server.ask('cpu')) - begun) / LOGINS, answer };
    } finally {
      await server.stop();
    }
  },
  metrics: [CPU],
  why: `It does more than the peer: it saves the session before the key is spent and before the redirect, claims attempt and key
so that no login is used twice, and checks the user info. A profile (\`--cpu-prof\`, 3,800 logins) says what it adds, in parts of
the peer's login: the new connection of each exchange 0.25, where the peer keeps one; marketgate's own code 0.40, none of its
functions more than 0.03; the further saving of the session 0.08, and garbage 0.08. Without any code of its own it would be at 1.55.`,
  goals: [
    { metric: CPU, variant: 'marketgate', most: 1.5, what: "to passport-oauth2's own client" },
  ],
};
