import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { context } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  ConsoleSpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { KeyApi, LoginApi } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { AsyncContextManager } from './active-span.js';
import { createApp, createMetricsApp } from './app.js';
import { countMarketgate } from './prometheus.js';
import { traceMarketgate } from './spans.js';

const HOST = '127.0.0.1';

const serve = (app: RequestListener, port: number): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer(app).once('error', reject);
    server.listen(port, HOST, () => resolve(server));
  });

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
const portFrom = (value: string | undefined, otherwise: number): number =>
  Number(value || otherwise);

async function main(): Promise<void> {
  // First of all, before there is anything to observe.
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  context.setGlobalContextManager(new AsyncContextManager());
  const provider = new BasicTracerProvider({
    // To the console, each at once. In earnest: a BatchSpanProcessor with an OTLP exporter.
    spanProcessors: [new SimpleSpanProcessor(new ConsoleSpanExporter())],
  });
  const tracer = provider.getTracer('shop');
  const onError = (error: unknown, channel: string) => console.error(`${channel}:`, error);
  const ends = [countMarketgate(registry, onError), traceMarketgate(tracer, onError)];

  const sandbox = createSandbox();
  const { baseUrl, apiKey, authUrl, appId, appSecret } = await sandbox.listen();
  const keyApi = new KeyApi({ baseUrl, apiKey });
  const loginApi = new LoginApi({ authUrl, appId, appSecret });
  const cookieSecret = randomBytes(32).toString('hex');
  const app = createApp({ keyApi, loginApi, tracer, cookieSecret });
  const shop = await serve(app, portFrom(process.env.PORT, 3000));
  const metrics = await serve(createMetricsApp(registry), portFrom(process.env.METRICS_PORT, 9464));
  const origin = `http://${HOST}:${portOf(shop)}`;
  sandbox.redirectUrl = `${origin}/callback`;

  const close = async () => {
    shop.close();
    metrics.close();
    await Promise.all([keyApi.close(), loginApi.close(), sandbox.close()]);
    for (const end of ends) end();
    await provider.shutdown();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close());

  console.log(`
  The shop is at ${origin}/items, its metrics at http://${HOST}:${portOf(metrics)}/metrics
  A purchase code of item ${sandbox.codes[0]?.item_id}: ${sandbox.codes[0]?.code}
  The marketplace is a sandbox inside this process: ${baseUrl}/
`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
