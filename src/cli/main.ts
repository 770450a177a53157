#!/usr/bin/env node
import { once } from 'node:events';
import { SELF } from '../help.js';
import { processIo } from './io.js';
import { run } from './program.js';

// A closed pipe, as in `marketgate doctor | head -1`, is not a failure of the command.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // Windows calls it the end of the file.
    if (error.code !== 'EPIPE' && error.code !== 'EOF') throw error;
  });
}

run(process.argv.slice(2), {
  io: processIo,
  environment: process.env,
  self: SELF,
  cwd: process.cwd(),
  untilStopped: () => Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]),
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
