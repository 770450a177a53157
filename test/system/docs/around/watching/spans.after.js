import assert from 'node:assert/strict';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({
  spanProcessors: [withoutSecrets, new SimpleSpanProcessor(exporter)],
});
const span = provider.getTracer('').startSpan('GET', {
  attributes: {
    'url.query': '?api_key=k1',
    'http.request.header.authorization': ['Bearer k1'],
    'http.response.status_code': 200,
  },
});
span.addEvent('seen', { url: '/callback?auth_key=k1' });
span.end();
const [{ attributes, events }] = exporter.getFinishedSpans();
assert.deepEqual(attributes, {
  'url.query': '?api_key=[redacted]',
  'http.request.header.authorization': '[redacted]',
  'http.response.status_code': 200,
});
assert.deepEqual(events[0].attributes, { url: '/callback?auth_key=[redacted]' });
