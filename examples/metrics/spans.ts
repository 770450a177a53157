import { type Attributes, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { listen, type OnListenerError } from './channels.js';

/**
 * Turns the package's messages into OpenTelemetry: a client span for each request to the marketplace,
 * below the span that is active, and events on that one for lookups, guards, logins and drift. Returns a
 * function that ends it.
 */
export function traceMarketgate(tracer: Tracer, onError: OnListenerError): () => void {
  const event = (name: string, attributes: Attributes): void => {
    trace.getActiveSpan()?.addEvent(name, attributes);
  };
  return listen(
    {
      'marketgate:request'({ method, endpoint, attempt, code, durationMs }) {
        // The message comes when the request is over, so its span is made in hindsight.
        const end = Date.now();
        const span = tracer.startSpan(`${method} ${endpoint}`, {
          kind: SpanKind.CLIENT,
          startTime: end - durationMs,
          attributes: {
            'http.request.method': method,
            // The path alone. `url.full` would hold the api_key.
            'url.path': endpoint,
            ...(attempt > 0 && { 'http.request.resend_count': attempt }),
            ...(code !== undefined && { 'error.type': code }),
          },
        });
        if (code !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end(end);
      },
      'marketgate:lookup': ({ what, source, outcome }) =>
        event('marketgate.lookup', { what, source, outcome }),
      'marketgate:guard': ({ allowed, code }) =>
        event('marketgate.guard', { allowed, ...(code && { code }) }),
      'marketgate:login': ({ outcome, code }) =>
        event('marketgate.login', { outcome, ...(code && { code }) }),
      'marketgate:drift': ({ endpoint, kind, path, expected }) =>
        event('marketgate.drift', { endpoint, kind, path, expected }),
    },
    onError,
  );
}
