import { CODES } from '../subjects/guard-server.mjs';
import { ADDED, CPU, measureAdded, openGuards } from './guards.mjs';

export default {
  name: 'guard-hit-express4',
  title: 'Guard on a cache hit, Express 4',
  about: 'As above, on the older Express.',
  variants: {
    'bare Express': { guard: 'bare' },
    'hand-written, synchronous': { guard: 'hand-written' },
    'hand-written, with the same headers': { guard: 'hand-written-private' },
    marketgate: { guard: 'marketgate' },
    'marketgate, diagnostics heard': { guard: 'marketgate', isHeard: true },
    'lru-cache fetch': { guard: 'lru-cache-fetch' },
  },
  open: openGuards,
  measure: measureAdded('express4', CODES),
  metrics: [ADDED, CPU],
  notes:
    'What is above the hand-written guard is what the two headers cost: see the row that sets them by hand.',
  goals: [
    {
      metric: ADDED,
      variant: 'marketgate',
      most: 1.25,
      what: 'added by marketgate, to what the hand-written guard adds',
    },
  ],
};
