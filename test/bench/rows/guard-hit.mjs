import { CODES } from '../subjects/guard-server.mjs';
import { GUARD_METRICS, measureGuard, openGuards } from './guards.mjs';

export default {
  name: 'guard-hit',
  title: 'Guard on a cache hit, Express 5',
  about: `200 customers come back with codes that the cache knows. The limit is a hand-written
middleware: it reads the header and asks an \`LRUCache\`. "Added" is what a guard costs beyond the bare
route, which is what is compared. marketgate also checks the code's form and the purchase's item.`,
  variants: {
    'bare Express': { guard: 'bare' },
    'hand-written, synchronous': { guard: 'hand-written' },
    marketgate: { guard: 'marketgate' },
    'marketgate, diagnostics heard': { guard: 'marketgate', isHeard: true },
    'hand-written, awaited': { guard: 'hand-written-async' },
    'lru-cache fetch': { guard: 'lru-cache-fetch' },
    bentocache: { guard: 'bentocache' },
    'cache-manager': { guard: 'cache-manager' },
    cacheable: { guard: 'cacheable' },
    keyv: { guard: 'keyv' },
  },
  // What is compared is a tenth of what is measured.
  rounds: 15,
  open: openGuards,
  measure: measureGuard('express', CODES),
  metrics: GUARD_METRICS,
  goals: [
    {
      metric: GUARD_METRICS[0],
      variant: 'marketgate',
      most: 1.25,
      what: 'added by marketgate, to what the hand-written guard adds',
    },
    ...[
      'hand-written, awaited',
      'lru-cache fetch',
      'bentocache',
      'cache-manager',
      'cacheable',
      'keyv',
    ].map((limit) => ({
      metric: GUARD_METRICS[0],
      variant: 'marketgate, diagnostics heard',
      limit,
      most: 1,
      what: `added by marketgate while diagnostics are heard, to ${limit}`,
    })),
  ],
};
