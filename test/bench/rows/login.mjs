import { startProcess } from '../harness/process.mjs';

const CPU = { name: 'cpu', title: 'CPU per login, µs', limit: 'passport-oauth2, its own exchange' };
const [WARM_UP, LOGINS] = [800, 1200];

export default {
  name: 'login',
  title: 'Login round trip',
  about: `A browser starts a login and comes back with what the service gave it: a session is made and
regenerated, the key exchanged for a token, the user asked for, by an Express 5 app with express-session.
The peer is passport-oauth2 with its own \`oauth\` client. marketgate also keeps the token, sees to it that
a key is used once, and has a deadline and a cap.`,
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
  notes: `Where it is above the peer: by a CPU profile most of a login is Express, express-session, passport
and what is written to sockets, alike for both. The requests to the service are cheaper on undici (37 µs) than on
the peer's client (\`node:http\` with its agent, \`url.parse\`, \`querystring\`, oauth: 83). What marketgate does
beyond the peer is about 80 µs of its own code, over some hundred functions of which none has more than 5, and with
it 20 for promises, 22 for garbage, 16 in express-session, 13 in lru-cache and zod, 9 for hashes. It is: the attempt
is taken out of the session, and the session written, before the key is spent (the peer writes it once, afterwards);
the session is written before the redirect too; attempt and key are each claimed in the token store, and the token
is kept there; each of these calls has a deadline; the user info is validated. The claims and the write ahead are
what keeps a second tab, a replay or a crash from using a login twice.`,
  metrics: [CPU],
  goals: [
    { metric: CPU, variant: 'marketgate', most: 0.95, what: "CPU, to passport-oauth2's own" },
  ],
};
