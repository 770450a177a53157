// A subject: an Express app with a login, by the package or by passport-oauth2 as it comes.
import express from 'express';
import session from 'express-session';
import { LoginApi, MarketplaceStrategy, MemoryTokenStore } from 'marketgate';
import passport from 'passport';
import OAuth2Strategy from 'passport-oauth2';
import { listenOn } from './listen-on.mjs';

const userOf = ({ id, displayName }) => ({ id, displayName });

const SIDES = {
  marketgate(service) {
    const loginApi = new LoginApi({
      authUrl: service,
      appId: 'bench',
      appSecret: 'bench-secret',
      guessLimit: false,
    });
    return new MarketplaceStrategy(
      { loginApi, tokenStore: new MemoryTokenStore() },
      async ({ profile }) => userOf(profile),
    );
  },
  /** With its own `oauth`, the state in the session, and the profile asked for with the same client. */
  byHand(service) {
    class Strategy extends OAuth2Strategy {
      userProfile(token, done) {
        this._oauth2.get(`${service}/api/get_user_info`, token, (error, body) => {
          if (error) return done(error);
          const { user_id, user_firstname, user_lastname } = JSON.parse(body).user_info;
          done(null, { id: user_id, displayName: `${user_firstname} ${user_lastname}` });
        });
      }
    }
    const options = {
      authorizationURL: `${service}/api/oauth`,
      tokenURL: `${service}/api/authorize`,
      clientID: 'bench',
      clientSecret: 'bench-secret',
      callbackURL: '/callback',
      state: true,
    };
    return new Strategy(options, (_access, _refresh, profile, done) => done(null, userOf(profile)));
  },
};

/** @param {{ side: keyof SIDES, service: string }} options */
export default async function makeServer({ side, service }) {
  passport.use('login', SIDES[side](service));
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user, done) => done(null, user));
  const app = express();
  app.use(session({ secret: 'bench', resave: false, saveUninitialized: false }));
  app.use(passport.session());
  app.get('/login', passport.authenticate('login'));
  app.get('/callback', passport.authenticate('login'), (req, res) => res.json(req.user));
  return listenOn(app, '');
}
