/** Run before a release: what a user of the package notices. */
export const RELEASE = ['guard-hit', 'redis-hit', 'cold-call', 'login', 'import'];

/** All rows, in the order of RESULTS.md. */
export const ROWS = [
  ...RELEASE,
  'fresh-process',
  'install',
  'refusal',
  'crowd',
  'item-list',
  'memory',
  'fleet',
  'soak',
];
