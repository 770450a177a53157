import assert from 'node:assert/strict';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { checkPurchase, KeyApi } from 'marketgate';

const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
);
const keyApi = new KeyApi({
  baseUrl: process.env.MARKETPLACE_BASE_URL,
  apiKey: process.env.MARKETPLACE_API_KEY,
});
const code = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';
await checkPurchase(keyApi, code, { client: '192.0.2.1' });
await keyApi.close();
const [span] = exporter.getFinishedSpans();
assert.equal(span.name, 'POST /api/purchases/validation');
assert.deepEqual(span.attributes, { 'url.path': '/api/purchases/validation' });
