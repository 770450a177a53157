// From CommonJS: every entry by require, and the same work.
const { work } = require('./work.cjs');

work({
  ...{ ...require('marketgate'), ...require('marketgate/redis'), ...require('marketgate/sandbox') },
  ...{ express: require('express'), passport: require('passport') },
  connect: require('./connect.cjs').connect,
}).catch((error) => {
  console.error(error);
  process.exit(1);
});
