import { startAll, withProcess } from '../harness/process.mjs';

const [WARM_UP, LOGINS] = [800, 1200];

export default {
  title: 'A login',
  about: `A browser starts a login and comes back: Express 5, express-session, key exchanged, user asked for. By hand: passport-oauth2
with its own client and the same two calls. marketgate also keeps the token, uses a key once, and opens a connection for each
exchange.`,
  open: () => startAll({ service: 'fixtures/service.mjs', browsers: 'harness/log-in.mjs' }),
  async measure({ side }, { browsers, service }) {
    const options = { side, service: await service.ask('url') };
    return withProcess('subjects/login-server.mjs', options, async (server) => {
      const url = await server.ask('url');
      await browsers.ask('send', { url, amount: WARM_UP });
      const begun = await server.ask('cpu');
      const answer = await browsers.ask('send', { url, amount: LOGINS });
      return { cpu: ((await server.ask('cpu')) - begun) / LOGINS, answer };
    });
  },
  metrics: [{ key: 'cpu', title: 'CPU of a login, µs', most: 1.5 }],
};
