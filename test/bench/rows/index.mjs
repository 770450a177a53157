/** In the order of RESULTS.md. */
export const ROWS = [
  'guard-hit',
  'new-code',
  'refusal',
  'redis-hit',
  'login',
  'item-list',
  'crowd',
  'fresh-process',
  'memory',
  'install',
];
