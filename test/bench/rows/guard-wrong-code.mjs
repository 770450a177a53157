import { measureGuard, openGuards } from './guards.mjs';

const WRONG = Array.from({ length: 200 }, (_, i) => `wrong-code-${i}`);

export default {
  name: 'guard-wrong-code',
  title: 'Guard on a wrong code, Express 5',
  about: `200 codes that the service has said *no* to, asked again and again within their 30 seconds. Both
guards refuse with a small JSON answer, and with 200, so that the load generator's check of the status
holds. The route behind is never reached, which is why a refusal can cost less than the bare route.`,
  variants: {
    'bare Express': { guard: 'bare' },
    'hand-written, synchronous': { guard: 'hand-written' },
    marketgate: { guard: 'marketgate' },
  },
  groupOf: (name) => (name === 'bare Express' ? 'bare' : 'refused'),
  open: openGuards,
  measure: measureGuard('express', WRONG),
  metrics: [{ name: 'cpu', title: 'CPU per request, µs', limit: 'hand-written, synchronous' }],
};
