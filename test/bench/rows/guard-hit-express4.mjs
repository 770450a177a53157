import { CODES } from '../subjects/guard-server.mjs';
import { GUARD_METRICS, measureGuard, openGuards } from './guards.mjs';

export default {
  name: 'guard-hit-express4',
  title: 'Guard on a cache hit, Express 4',
  about: 'As above, on the older Express.',
  variants: {
    'bare Express': { guard: 'bare' },
    'hand-written, synchronous': { guard: 'hand-written' },
    marketgate: { guard: 'marketgate' },
    'marketgate, diagnostics heard': { guard: 'marketgate', isHeard: true },
    'lru-cache fetch': { guard: 'lru-cache-fetch' },
  },
  rounds: 15,
  open: openGuards,
  measure: measureGuard('express4', CODES),
  metrics: GUARD_METRICS,
  goals: [
    {
      metric: GUARD_METRICS[0],
      variant: 'marketgate',
      most: 1.25,
      what: 'added by marketgate, to what the hand-written guard adds',
    },
  ],
};
