import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { context } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  ConsoleSpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import express, { type Express } from 'express';
import { KeyApi, LoginApi } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { createApp } from './app.js';
import { countMarketgate } from './prometheus.js';
import { AsyncContextManager, traceMarketgate } from './tracing.js';

/** Returns the origin. */
async function serve(app: Express, port: string): Promise<string> {
  try {
    const server = app.listen(Number(port), '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  } catch (error) {
    const advice = 'choose another port with PORT or METRICS_PORT, from 0 (any) to 65535';
    console.error(`${(error as Error).message}; ${advice}.`);
    process.exit(1);
  }
}

const { PORT = '3000', METRICS_PORT = '9464' } = process.env;
const onError = (error: unknown, channel: string) => console.error(`${channel}:`, error);

const registry = new Registry();
collectDefaultMetrics({ register: registry });
countMarketgate(registry, onError);

context.setGlobalContextManager(new AsyncContextManager());
// Prints each span. In production: a BatchSpanProcessor with an OTLP exporter.
const spanProcessors = [new SimpleSpanProcessor(new ConsoleSpanExporter())];
const tracer = new BasicTracerProvider({ spanProcessors }).getTracer('shop');
traceMarketgate(tracer, onError);

const sandbox = createSandbox();
const { baseUrl, apiKey, authUrl, appId, appSecret } = await sandbox.listen();
const app = createApp({
  keyApi: new KeyApi({ baseUrl, apiKey }),
  loginApi: new LoginApi({ authUrl, appId, appSecret }),
  tracer,
  cookieSecret: randomBytes(32).toString('hex'),
});
const origin = await serve(app, PORT);
sandbox.redirectUrl = `${origin}/callback`;

// On a separate port, because metrics are not for visitors.
const metrics = express();
metrics.get('/metrics', async (_req, res) => {
  res.set('Content-Type', registry.contentType).send(await registry.metrics());
});
console.log(
  `The shop is at ${origin}/items, its metrics at ${await serve(metrics, METRICS_PORT)}/metrics`,
);
