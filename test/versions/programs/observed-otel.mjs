import assert from 'node:assert/strict';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { withoutSecrets } from '../guide/spans.js';

const exporter = new InMemorySpanExporter();
const spanProcessors = [withoutSecrets, new SimpleSpanProcessor(exporter)];
new NodeTracerProvider({ spanProcessors }).register();
const headers = ['x-purchase-code', 'cookie', 'referer'];
const headersToSpanAttributes = { requestHeaders: headers, responseHeaders: ['set-cookie'] };
registerInstrumentations({
  instrumentations: [
    new UndiciInstrumentation({ headersToSpanAttributes }),
    new HttpInstrumentation({
      headersToSpanAttributes: { server: headersToSpanAttributes, client: headersToSpanAttributes },
    }),
  ],
});
// Both instrumentations want to be there first.
const { assertClean, dayOfTheShop } = await import('./observed.mjs');
const secrets = await dayOfTheShop();
const spans = exporter.getFinishedSpans();
const seen = spans.map(({ name, kind, attributes, events, status }) => {
  return { name, kind, attributes, events, status };
});
assert.ok(spans.length > 30, `${spans.length} spans`);
assertClean(JSON.stringify(seen), secrets);
console.log('works');
