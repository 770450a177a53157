import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';

// What Sentry would get.
const sent = [];
const server = createServer(async (req, res) => {
  const chunks = await req.toArray();
  const body = Buffer.concat(chunks);
  sent.push(String(req.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body));
  res.end('{}');
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
process.env.SENTRY_DSN = `http://key@127.0.0.1:${server.address().port}/1`;
await import('../guide/sentry.js');
const Sentry = await import('@sentry/node');
const { assertClean, dayOfTheShop } = await import('./observed.mjs');

const after = [
  (error, _req, _res, next) => {
    Sentry.captureException(error);
    next(error);
  },
];
const secrets = await dayOfTheShop({ after });
await Sentry.flush(5000);
await Sentry.close();
server.close();
server.closeAllConnections();
assert.ok(sent.length > 10, `${sent.length} envelopes`);
assert.match(sent.join('\n'), /a mistake of the app/);
assert.match(sent.join('\n'), /purchases\/validation/);
assertClean(sent.join('\n'), secrets);
console.log('works');
