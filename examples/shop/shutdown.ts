import type { Server } from 'node:http';

/** How long requests that are under way may take to finish, in milliseconds. */
const PATIENCE = 5000;

/**
 * Ends the process in good order on Ctrl-C, or when its host says so: no new visitors, then the answers
 * under way, then everything behind. The process ends by itself when nothing is left to do.
 */
export function closeOnSignal(server: Server, closeTheRest: () => Promise<void>): void {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const close = () => {
    // A second signal ends the process at once, as without this file.
    for (const signal of signals) process.off(signal, close);
    const cut = setTimeout(() => server.closeAllConnections(), PATIENCE);
    server.close(() => {
      clearTimeout(cut);
      closeTheRest().catch(() => {
        process.exitCode = 1;
      });
    });
  };
  for (const signal of signals) process.on(signal, close);
}
