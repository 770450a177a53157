import { CODES } from '../subjects/guard-server.mjs';
import { ADDED, CPU, measureAdded, openGuards } from './guards.mjs';

const ONE = CODES.slice(0, 1);
const PRIVATE = 'hand-written, with the same headers';
const HAND_ONE = 'hand-written, synchronous, 1 code';
const PRIVATE_ONE = 'hand-written, with the same headers, 1 code';
const OURS_ONE = 'marketgate, 1 code';
const ADDED_HERE = {
  ...ADDED,
  limits: { [HAND_ONE]: HAND_ONE, [PRIVATE_ONE]: HAND_ONE, [OURS_ONE]: HAND_ONE },
};

export default {
  name: 'guard-hit',
  title: 'Guard on a cache hit, Express 5',
  about: `200 customers come back with codes that the cache knows, or one comes again and again. The limit is a hand-written
middleware: it reads the header and asks an \`LRUCache\`. Compared is what a guard adds to the bare route,
which is a tenth of the whole: so in each sample one process serves both, and is asked for 400 of the one
and 400 of the other, 30 times, the order of each two by chance. What the bare route adds to itself is how far that can be believed.
marketgate also checks the code's form and the purchase's item, and sets \`Cache-Control\` and \`Vary\`, so that no
shared cache gives the file to the next visitor; "with the same headers" does that by hand.`,
  variants: {
    'bare Express': { guard: 'bare' },
    'hand-written, synchronous': { guard: 'hand-written' },
    [PRIVATE]: { guard: 'hand-written-private' },
    marketgate: { guard: 'marketgate' },
    'marketgate, diagnostics heard': { guard: 'marketgate', isHeard: true },
    [HAND_ONE]: { guard: 'hand-written', codes: ONE },
    [PRIVATE_ONE]: { guard: 'hand-written-private', codes: ONE },
    [OURS_ONE]: { guard: 'marketgate', codes: ONE },
    'hand-written, awaited': { guard: 'hand-written-async' },
    'lru-cache fetch': { guard: 'lru-cache-fetch' },
    bentocache: { guard: 'bentocache' },
    'cache-manager': { guard: 'cache-manager' },
    cacheable: { guard: 'cacheable' },
    keyv: { guard: 'keyv' },
  },
  open: openGuards,
  measure: measureAdded('express', CODES),
  metrics: [ADDED_HERE, CPU],
  notes: `What marketgate adds beyond the hand-written guard is what the two headers cost, which are written into each
response: by hand they cost the same. None of the peers writes them, nor does the awaited guard.`,
  goals: [
    {
      metric: ADDED_HERE,
      variant: 'marketgate',
      most: 1.1,
      what: 'added by marketgate, to what the hand-written guard adds',
    },
    {
      metric: ADDED_HERE,
      variant: OURS_ONE,
      most: 1.1,
      what: 'added by marketgate, to what the hand-written guard adds, with 1 code',
    },
    ...[
      [PRIVATE, 'marketgate'],
      [PRIVATE_ONE, OURS_ONE],
    ].map(([limit, variant]) => ({
      metric: ADDED,
      variant,
      limit,
      most: 1.1,
      what: `added by ${variant}, to ${limit}`,
    })),
    ...[
      'hand-written, awaited',
      'lru-cache fetch',
      'bentocache',
      'cache-manager',
      'cacheable',
      'keyv',
    ].map((limit) => ({
      metric: ADDED,
      variant: 'marketgate, diagnostics heard',
      limit,
      most: 1,
      what: `added by marketgate while diagnostics are heard, to ${limit}`,
    })),
  ],
};
