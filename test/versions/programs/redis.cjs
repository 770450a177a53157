// From CommonJS: every entry by require.
const lib = {
  ...require('marketgate'),
  ...require('marketgate/redis'),
  ...require('marketgate/sandbox'),
  Passport: require('passport').Passport,
  express: require('express'),
  session: require('express-session'),
};

void import('./redis-clients.mjs').then(({ runWithRedis }) => runWithRedis(lib));
