import assert from 'node:assert/strict';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { checkPurchase, KeyApi } from 'marketgate';
import { withoutSecrets } from './spans.js';

const exporter = new InMemorySpanExporter();
const spanProcessors = [withoutSecrets, new SimpleSpanProcessor(exporter)];
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));

const keyApi = new KeyApi({
  baseUrl: process.env.MARKETPLACE_BASE_URL,
  apiKey: process.env.MARKETPLACE_API_KEY,
});
await checkPurchase(keyApi, '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10', { client: '192.0.2.1' });
await keyApi.close();

const recorded = trace
  .getTracer('')
  .startSpan('GET', { attributes: { 'url.query': 'api_key=k1' } });
recorded.addEvent('seen', { url: '/callback?auth_key=k1' }).end();

const [own, foreign] = exporter.getFinishedSpans();
assert.equal(own.name, 'POST /api/purchases/validation');
assert.deepEqual(own.attributes, { 'url.path': '/api/purchases/validation' });
assert.deepEqual(foreign.attributes, { 'url.query': 'api_key=[redacted]' });
assert.deepEqual(foreign.events[0].attributes, { url: '/callback?auth_key=[redacted]' });
