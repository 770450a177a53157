/** All rows, in the order of RESULTS.md. */
export const ROWS = [
  'guard-hit',
  'guard-hit-express4',
  'guard-wrong-code',
  'diagnostics',
  'holder',
  'loaders',
  'cold-call',
  'stampede',
  'item-list',
  'memory',
  'redis-hit',
  'login',
  'import',
  'install',
];
