// The recipes of watching.md, each with its recorder: nothing that is recorded contains a secret.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';

const recorders = { pino, morgan, sentry, otel };
const [name] = process.argv.slice(2);
const { text, secrets, least } = await recorders[name]();
for (const [what, secret] of Object.entries(secrets)) {
  const at = text.indexOf(secret);
  assert.equal(at, -1, `${what}: …${text.slice(Math.max(0, at - 60), at)}`);
}
const redacted = text.split('[redacted]').length - 1;
assert.ok(redacted >= least, `only ${redacted} redacted in: ${text.slice(0, 500)}`);
console.log('works');

/** Loaded after the recorders, which patch what is imported. */
async function dayOfTheShop(options = {}) {
  return (await import('./day.mjs')).dayOfTheShop(options);
}

async function pino() {
  const { pinoHttp } = await import('pino-http');
  const { createLogger } = await import('../guide/logger.js');
  const lines = [];
  const logger = createLogger({ write: (line) => lines.push(line) });
  const secrets = await dayOfTheShop({ before: pinoHttp({ logger }) });
  // A logger of the app writes whatever it is given.
  logger.child({ cookie: secrets.cookie }).info({ body: { purchase_code: secrets[0] } }, 'redeem');
  logger.warn(`GET /callback?auth_key=${secrets.authKey}`);
  for (const line of lines) JSON.parse(line);
  return { text: lines.join(''), secrets, least: 10 };
}

async function morgan() {
  const { accessLog } = await import('../guide/access-log.js');
  const lines = [];
  const secrets = await dayOfTheShop({ before: accessLog({ write: (line) => lines.push(line) }) });
  return { text: lines.join(''), secrets, least: 5 };
}

async function sentry() {
  const sent = [];
  const server = createServer(async (req, res) => {
    const body = Buffer.concat(await req.toArray());
    sent.push(String(req.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body));
    res.end('{}');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  process.env.SENTRY_DSN = `http://key@127.0.0.1:${server.address().port}/1`;
  await import('../guide/sentry.js');
  const Sentry = await import('@sentry/node');
  const secrets = await dayOfTheShop({
    onError(error, _req, _res, next) {
      Sentry.captureException(error);
      next(error);
    },
  });
  await Sentry.flush(5000);
  await Sentry.close();
  server.close();
  server.closeAllConnections();
  const text = sent.join('\n');
  assert.match(text, /a mistake of the app/);
  assert.match(text, /purchases\/validation/);
  return { text, secrets, least: 10 };
}

async function otel() {
  const { registerInstrumentations } = await import('@opentelemetry/instrumentation');
  const { HttpInstrumentation } = await import('@opentelemetry/instrumentation-http');
  const { UndiciInstrumentation } = await import('@opentelemetry/instrumentation-undici');
  const base = await import('@opentelemetry/sdk-trace-base');
  const { NodeTracerProvider } = await import('@opentelemetry/sdk-trace-node');
  const { withoutSecrets } = await import('../guide/spans.js');
  const exporter = new base.InMemorySpanExporter();
  const spanProcessors = [withoutSecrets, new base.SimpleSpanProcessor(exporter)];
  new NodeTracerProvider({ spanProcessors }).register();
  const headers = ['x-purchase-code', 'cookie', 'referer', 'authorization'];
  const headersToSpanAttributes = { requestHeaders: headers, responseHeaders: ['set-cookie'] };
  const both = { server: headersToSpanAttributes, client: headersToSpanAttributes };
  registerInstrumentations({
    instrumentations: [
      new UndiciInstrumentation({ headersToSpanAttributes }),
      new HttpInstrumentation({ headersToSpanAttributes: both }),
    ],
  });
  const secrets = await dayOfTheShop();
  const spans = exporter.getFinishedSpans();
  assert.ok(spans.length > 30, `${spans.length} spans`);
  const seen = spans.map(({ name, attributes, events, status }) => {
    return { name, attributes, events, status };
  });
  return { text: JSON.stringify(seen), secrets, least: 10 };
}
