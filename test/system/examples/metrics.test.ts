import { context } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { type Counter, Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../examples/metrics/app.js';
import { countMarketgate } from '../../../examples/metrics/prometheus.js';
import { AsyncContextManager, traceMarketgate } from '../../../examples/metrics/tracing.js';
import { Browser } from '../../support/browser.js';
import { openShop, VALIDATION } from '../../support/shop.js';
import { guess } from '../../support/wire.js';

beforeAll(() => {
  context.setGlobalContextManager(new AsyncContextManager());
});
afterAll(() => context.disable());

async function open() {
  const shop = await openShop({ retries: 1 });
  const { keyApi, loginApi } = shop;
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor(exporter)];
  const tracer = new BasicTracerProvider({ spanProcessors }).getTracer('test');
  const registry = new Registry();
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const ends = [countMarketgate(registry, onError), traceMarketgate(tracer, onError)];
  const end = () => ends.forEach((stop) => void stop());
  onTestFinished(end);
  const cookieSecret = 'for-the-tests-only-0123456789abcdef';
  const origin = await shop.serve(createApp({ keyApi, loginApi, tracer, cookieSecret }));
  return {
    ...{ ...shop, origin, errors, end, registry },
    spans: () => exporter.getFinishedSpans(),
    async download(purchaseCode = shop.code('supported')) {
      const headers = { accept: 'application/json', 'x-purchase-code': purchaseCode };
      return (await fetch(`${origin}/items/1042/download`, { headers })).status;
    },
    async expectSeries(...all: string[]) {
      const text = await registry.metrics();
      for (const series of all) expect(text).toContain(`marketgate_${series}`);
    },
  };
}

describe('examples/metrics', () => {
  it('counts requests, lookups by source, decisions, retries and drift', async () => {
    const shop = await open();
    expect([await shop.download(), await shop.download()]).toEqual([200, 200]);
    expect(await shop.download(guess(1))).toBe(403);
    await shop.expectSeries(
      `request_duration_seconds_count{method="POST",endpoint="${VALIDATION}",outcome="answered"} 2`,
      'lookups_total{what="purchase",source="service",outcome="positive"} 1',
      'lookups_total{what="purchase",source="cache",outcome="positive"} 1',
      'lookups_total{what="purchase",source="service",outcome="negative"} 1',
      'guard_decisions_total{allowed="true",code="none"} 2',
      'guard_decisions_total{allowed="false",code="purchase_code_invalid"} 1',
    );
    shop.sandbox.faults.errorRate = 1;
    expect(await shop.download(guess(2))).toBe(503);
    shop.sandbox.faults.errorRate = 0;
    shop.sandbox.dialect.tagsAsString = true;
    await fetch(`${shop.origin}/items`);
    await shop.expectSeries(
      `retries_total{endpoint="${VALIDATION}"} 1`,
      'guard_decisions_total{allowed="false",code="service_unavailable"} 1',
      'drift_total{endpoint="/api/items/all",kind="coerced"} 1',
    );
  });

  it('makes spans of requests below that of the visitor, with events for the rest', async () => {
    const shop = await open();
    await shop.download();
    const ofVisitor = 'GET /items/:id/download';
    await expect.poll(() => shop.spans().map(({ name }) => name)).toContain(ofVisitor);
    const all = shop.spans();
    const server = all.find(({ name }) => name === ofVisitor);
    const client = all.find(({ name }) => name === `POST ${VALIDATION}`);
    expect(client?.parentSpanContext?.spanId).toBe(server?.spanContext().spanId);
    expect(client?.attributes).toEqual({ 'http.request.method': 'POST', 'url.path': VALIDATION });
    expect(server?.attributes).toMatchObject({ 'http.response.status_code': 200 });
    expect(server?.events.map(({ name }) => name)).toEqual([
      'marketgate.lookup',
      'marketgate.guard',
    ]);
  });

  it('observes a login, and no secret gets into metrics or spans', async () => {
    const shop = await open();
    const browser = new Browser();
    expect((await browser.logIn(`${shop.origin}/login`, '3001')).status).toBe(200);
    await shop.download();
    await shop.download(guess(1));
    shop.sandbox.faults.errorRate = 1;
    await shop.download(guess(2));
    await shop.expectSeries(
      'login_steps_total{outcome="redirect",code="none"} 1',
      'login_steps_total{outcome="success",code="none"} 1',
    );
    const [authKey = ''] = browser.history.flatMap(
      (url) => new URL(url).searchParams.get('auth_key') ?? [],
    );
    expect(authKey).not.toBe('');
    const told = shop.spans().map(({ name, attributes, events, status, links, resource }) => ({
      ...{ name, attributes, events, status, links, resource: resource.attributes },
    }));
    const everything = (await shop.registry.metrics()) + JSON.stringify(told);
    for (const secret of [shop.apiKey, shop.code('supported'), authKey, guess(1), guess(2)]) {
      expect(everything).not.toContain(secret);
    }
  });

  it('a listener that throws harms no request, and is told of', async () => {
    const shop = await open();
    const counter = shop.registry.getSingleMetric('marketgate_guard_decisions_total') as Counter;
    counter.inc = () => {
      throw new Error('the counter is broken');
    };
    expect([await shop.download(), await shop.download()]).toEqual([200, 200]);
    expect(shop.errors).toEqual([expect.any(Error), expect.any(Error)]);
    await shop.expectSeries('lookups_total{what="purchase",source="cache",outcome="positive"} 1');
  });

  it('counts and traces nothing after its end', async () => {
    const shop = await open();
    expect(await shop.download()).toBe(200);
    const clientSpans = () => shop.spans().filter(({ name }) => name.startsWith('POST')).length;
    const before = [await shop.registry.metrics(), clientSpans()];
    shop.end();
    await shop.download(guess(1));
    expect([await shop.registry.metrics(), clientSpans()]).toEqual(before);
  });
});
