import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Context,
  type ContextManager,
  context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { RequestHandler } from 'express';
import { listen, type OnListenerError } from './channels.js';

/**
 * Turns the package's messages into OpenTelemetry: a client span for each request to the marketplace,
 * below the active span, and events on the active span for the rest. Returns a function that ends it.
 */
export function traceMarketgate(tracer: Tracer, onError: OnListenerError): () => void {
  const event = (name: string, attributes: Attributes): void => {
    trace.getActiveSpan()?.addEvent(name, attributes);
  };
  return listen(
    {
      'marketgate:request'({ method, endpoint, attempt, code, durationMs }) {
        // The message is published after the response, so the span starts in the past.
        const end = Date.now();
        const span = tracer.startSpan(`${method} ${endpoint}`, {
          kind: SpanKind.CLIENT,
          startTime: end - durationMs,
          attributes: {
            'http.request.method': method,
            // The path only: `url.full` would contain the api_key.
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

/** A server span for each request, active until its response. Comes before all routes. */
export function requestSpans(tracer: Tracer): RequestHandler {
  return (req, res, next) => {
    const span = tracer.startSpan(req.method, { kind: SpanKind.SERVER });
    res.once('close', () => {
      // The route's pattern and not the URL, which can contain an auth_key.
      const route: unknown = req.route?.path;
      if (typeof route === 'string') span.updateName(`${req.method} ${route}`);
      span.setAttribute('http.response.status_code', res.statusCode);
      if (res.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    context.with(trace.setSpan(context.active(), span), next);
  };
}

/** Keeps the active span across `await`. `@opentelemetry/sdk-trace-node` has one built in. */
export class AsyncContextManager implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    fn: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#storage.run(active, () => fn.apply(thisArg, args));
  }

  bind<T>(bound: Context, target: T): T {
    if (typeof target !== 'function') return target;
    return ((...args: unknown[]) => this.with(bound, () => target(...args))) as T;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    this.#storage.disable();
    return this;
  }
}
