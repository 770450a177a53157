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
  metrics: [CPU],
  goals: [{ metric: CPU, variant: 'marketgate', most: 1, what: "CPU, to passport-oauth2's own" }],
};
