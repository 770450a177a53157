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
import { openShop } from '../../support/shop.js';

const UNKNOWN = 'aaaaaaaa-0000-4000-8000-000000000000';
const VALIDATION = '/api/purchases/validation';

beforeAll(() => {
  context.setGlobalContextManager(new AsyncContextManager());
});
afterAll(() => context.disable());

async function open() {
  const shop = await openShop({ retries: 1 });
  const { keyApi, loginApi, sandbox } = shop;
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
    ...{ sandbox, origin, errors, end, registry },
    secrets: [shop.apiKey, shop.code('supported')],
    spans: () => exporter.getFinishedSpans(),
    metrics: () => registry.metrics(),
    frontPage: async () => (await fetch(`${origin}/`)).text(),
    async download(purchaseCode = shop.code('supported')) {
      const headers = { accept: 'application/json', 'x-purchase-code': purchaseCode };
      return (await fetch(`${origin}/items/1042/download`, { headers })).status;
    },
  };
}

describe('examples/metrics', () => {
  it('counts requests, lookups by source, and decisions', async () => {
    const shop = await open();
    expect(await shop.frontPage()).toContain('<h1>Metrics</h1>');
    expect([await shop.download(), await shop.download()]).toEqual([200, 200]);
    expect(await shop.download(UNKNOWN)).toBe(403);
    const text = await shop.metrics();
    for (const series of [
      `request_duration_seconds_count{method="POST",endpoint="${VALIDATION}",outcome="answered"} 2`,
      'lookups_total{what="purchase",source="service",outcome="positive"} 1',
      'lookups_total{what="purchase",source="cache",outcome="positive"} 1',
      'lookups_total{what="purchase",source="service",outcome="negative"} 1',
      'guard_decisions_total{allowed="true",code="none"} 2',
      'guard_decisions_total{allowed="false",code="purchase_code_invalid"} 1',
    ]) {
      expect(text).toContain(`marketgate_${series}`);
    }
  });

  it('counts an outage with its retries, and drift without its path', async () => {
    const shop = await open();
    shop.sandbox.faults.errorRate = 1;
    expect(await shop.download()).toBe(503);
    shop.sandbox.faults.errorRate = 0;
    shop.sandbox.dialect.tagsAsString = true;
    await fetch(`${shop.origin}/items`);
    const text = await shop.metrics();
    for (const series of [
      `retries_total{endpoint="${VALIDATION}"} 1`,
      'guard_decisions_total{allowed="false",code="service_unavailable"} 1',
      'drift_total{endpoint="/api/items/all",kind="coerced"} 1',
    ]) {
      expect(text).toContain(`marketgate_${series}`);
    }
    expect(text).not.toContain('items[');
  });

  it('makes spans of requests below that of the visitor, with events for the rest', async () => {
    const shop = await open();
    await shop.download();
    await expect
      .poll(() => shop.spans().map(({ name }) => name))
      .toContain(`GET /items/:id/download`);
    const all = shop.spans();
    const server = all.find(({ name }) => name === 'GET /items/:id/download');
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
    const visit = await browser.logIn(`${shop.origin}/login`, '3001');
    expect(visit.status).toBe(200);
    await shop.download();
    await shop.download(UNKNOWN);
    shop.sandbox.faults.errorRate = 1;
    await shop.download('bbbbbbbb-0000-4000-8000-000000000000');
    const text = await shop.metrics();
    for (const outcome of ['redirect', 'success']) {
      expect(text).toContain(`marketgate_login_steps_total{outcome="${outcome}",code="none"} 1`);
    }
    const authKeys = browser.history.flatMap(
      (url) => new URL(url).searchParams.get('auth_key') ?? [],
    );
    expect(authKeys).toHaveLength(1);
    const told = shop.spans().map(({ name, attributes, events, status, links, resource }) => ({
      ...{ name, attributes, events, status, links, resource: resource.attributes },
    }));
    const everything = text + JSON.stringify(told);
    for (const secret of [...shop.secrets, ...authKeys, 'aaaaaaaa-0000', 'bbbbbbbb-0000']) {
      expect(everything).not.toContain(secret);
    }
  });

  it('a listener that throws harms no request, and is told of', async () => {
    const shop = await open();
    const uncaught: unknown[] = [];
    const note = (error: unknown) => void uncaught.push(error);
    process.on('uncaughtException', note);
    onTestFinished(() => void process.off('uncaughtException', note));
    const counter = shop.registry.getSingleMetric('marketgate_guard_decisions_total') as Counter;
    counter.inc = () => {
      throw new Error('the counter is broken');
    };
    expect(await shop.download()).toBe(200);
    expect(await shop.download()).toBe(200);
    expect(shop.errors).toEqual([expect.any(Error), expect.any(Error)]);
    expect(uncaught).toEqual([]);
    // The others go on.
    expect(await shop.metrics()).toMatch(/marketgate_lookups_total\{.*"cache".*\} 1/);
  });

  it('counts and traces nothing after its end', async () => {
    const shop = await open();
    expect(await shop.download()).toBe(200);
    const before = await shop.metrics();
    const clientSpans = () => shop.spans().filter(({ name }) => name.startsWith('POST'));
    expect(before).toMatch(/^marketgate_lookups_total\{/m);
    expect(clientSpans()).toHaveLength(1);
    shop.end();
    await shop.download(UNKNOWN);
    expect(await shop.metrics()).toBe(before);
    expect(clientSpans()).toHaveLength(1);
  });
});
