import { AsyncLocalStorage } from 'node:async_hooks';
import {
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

/**
 * Remembers across `await` which span is active. `@opentelemetry/sdk-trace-node` brings one along, and
 * the instrumentation of Express makes the spans; here both are written out, so that nothing is hidden.
 */
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

/** A server span for each request, active until it is answered. Goes ahead of all routes. */
export function requestSpans(tracer: Tracer): RequestHandler {
  return (req, res, next) => {
    const span = tracer.startSpan(req.method, { kind: SpanKind.SERVER });
    res.once('close', () => {
      // The route's pattern, not the address: that can hold an auth_key, and each would be a name.
      const route: unknown = req.route?.path;
      if (typeof route === 'string') {
        span.updateName(`${req.method} ${route}`);
        span.setAttribute('http.route', route);
      }
      span.setAttributes({
        'http.request.method': req.method,
        'http.response.status_code': res.statusCode,
      });
      if (res.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    context.with(trace.setSpan(context.active(), span), next);
  };
}
