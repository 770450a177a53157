// From CommonJS: every entry by require.
const { withRedis } = require('./connect.cjs');

withRedis(
  {
    ...{ ...require('marketgate'), ...require('marketgate/redis') },
    ...{ ...require('marketgate/sandbox'), Passport: require('passport').Passport },
  },
  require('express'),
).catch((error) => {
  console.error(error);
  process.exit(1);
});
