#!/usr/bin/env node
import { processIo } from './io.js';
import { run } from './program.js';

// A closed pipe, as in `marketgate doctor | head -1`, is not a failure of the command.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

const untilStopped = (): Promise<void> =>
  new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });

run(process.argv.slice(2), {
  io: processIo,
  environment: process.env,
  cwd: process.cwd(),
  untilStopped,
}).then(
  (exitCode) => {
    process.exitCode = exitCode;
  },
  (error: unknown) => {
    // Without the message: that of an unexpected error can contain secrets.
    const { name, code } = error as NodeJS.ErrnoException;
    processIo.err(`marketgate: ${name ?? 'Error'}${code ? ` (${code})` : ''}`);
    process.exitCode = 2;
  },
);
