import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import express from 'express';
import { errorHandler, KeyApi, requirePurchase } from 'marketgate';

// What NodeTracerProvider registers.
const storage = new AsyncLocalStorage();
context.setGlobalContextManager({
  active: () => storage.getStore() ?? ROOT_CONTEXT,
  with: (active, fn, self, ...args) => storage.run(active, () => fn.apply(self, args)),
});
const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
);
const keyApi = new KeyApi({
  baseUrl: process.env.MARKETPLACE_BASE_URL,
  apiKey: process.env.MARKETPLACE_API_KEY,
});
const app = express();
app.use((_req, res, next) => {
  const span = trace.getTracer('app').startSpan('request');
  res.once('close', () => span.end());
  context.with(trace.setSpan(context.active(), span), next);
});
app.get('/downloads/:id', requirePurchase(keyApi), (_req, res) => res.sendStatus(204));
app.use(errorHandler());
const server = app.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const url = `http://127.0.0.1:${server.address().port}/downloads/1`;
const codes = ['00000000-0000-4000-8000-000000000000', '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10'];
for (const code of codes) await fetch(url, { headers: { 'x-purchase-code': code } });
// Both at once, and each is a request of its own.
const own = ['11111111-0000-4000-8000-000000000000', '22222222-0000-4000-8000-000000000000'];
await Promise.all(own.map((code) => fetch(url, { headers: { 'x-purchase-code': code } })));
server.close();
server.closeAllConnections();
await keyApi.close();
const spans = exporter.getFinishedSpans();
const requests = spans.filter(({ name }) => name === 'request');
assert.equal(requests.length, 4);
for (const { events } of requests) {
  assert.equal(events[0].name, 'marketgate.guard');
  assert.equal(events[0].attributes.route, '/downloads/:id');
}
const ids = requests.map((span) => span.spanContext().spanId);
const calls = spans.filter(({ name }) => name.endsWith('/validation'));
assert.deepEqual(calls.map((span) => span.parentSpanContext?.spanId).sort(), ids.sort());
