import cluster from 'node:cluster';
import { ConfigError } from './config.js';

// One file for both: node:cluster starts its workers with the program they come from.
const run = cluster.isPrimary
  ? async () => (await import('./primary.js')).runPrimary()
  : async () => (await import('./worker.js')).runWorker();

run().catch((error: unknown) => {
  // The operator's mistakes are told in words; anything else is ours, and shows where it happened.
  console.error(error instanceof ConfigError ? `\n  ${error.message}\n` : error);
  process.exit(1);
});
