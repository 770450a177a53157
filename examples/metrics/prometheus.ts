import { Counter, Histogram, type Registry } from 'prom-client';
import { listen, type OnListenerError } from './channels.js';

/**
 * Turns the package's messages into metrics of a registry. Returns a function that ends it.
 *
 * Labels have few values: endpoints, error codes, kinds. The path of a drift is no label, because the
 * service chooses its names.
 */
export function countMarketgate(registry: Registry, onError: OnListenerError): () => void {
  const registers = [registry];
  const requests = new Histogram({
    name: 'marketgate_request_duration_seconds',
    help: 'Requests to the marketplace, each retry counted separately. "outcome" is "answered" or the code of the error.',
    labelNames: ['method', 'endpoint', 'outcome'] as const,
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const retries = new Counter({
    name: 'marketgate_retries_total',
    help: 'Retries of requests to the marketplace.',
    labelNames: ['endpoint'] as const,
    registers,
  });
  const lookups = new Counter({
    name: 'marketgate_lookups_total',
    help: 'Lookups by the source of the answer. "stale-if-error" is a stale answer in an outage.',
    labelNames: ['what', 'source', 'outcome'] as const,
    registers,
  });
  const guards = new Counter({
    name: 'marketgate_guard_decisions_total',
    help: 'What requirePurchase decided. "code" is "none" for a valid purchase.',
    labelNames: ['allowed', 'code'] as const,
    registers,
  });
  const logins = new Counter({
    name: 'marketgate_login_steps_total',
    help: 'Steps of logins by their outcome.',
    labelNames: ['outcome', 'code'] as const,
    registers,
  });
  const drifts = new Counter({
    name: 'marketgate_drift_total',
    help: 'Differences from the documented shape, each reported once an hour.',
    labelNames: ['endpoint', 'kind'] as const,
    registers,
  });

  return listen(
    {
      'marketgate:request'({ method, endpoint, attempt, code = 'answered', durationMs }) {
        requests.observe({ method, endpoint, outcome: code }, durationMs / 1000);
        if (attempt > 0) retries.inc({ endpoint });
      },
      'marketgate:lookup'({ what, source, outcome }) {
        lookups.inc({ what, source, outcome });
      },
      'marketgate:guard'({ allowed, code = 'none' }) {
        guards.inc({ allowed: String(allowed), code });
      },
      'marketgate:login'({ outcome, code = 'none' }) {
        logins.inc({ outcome, code });
      },
      'marketgate:drift'({ endpoint, kind }) {
        drifts.inc({ endpoint, kind });
      },
    },
    onError,
  );
}
