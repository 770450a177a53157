#!/usr/bin/env node
import { run } from './program.js';
import { processTerminal } from './terminal.js';

function listenForStop(): () => Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
  return () => stopped;
}

// Who reads the output may stop to: `marketgate doctor | head -1` is no failure of the command.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

run(process.argv.slice(2), {
  terminal: processTerminal,
  environment: process.env,
  listenForStop,
}).then(
  (exitCode) => {
    process.exitCode = exitCode;
  },
  (error: unknown) => {
    // Nothing of a secret is in an error's name; its message could come from anywhere.
    const { name, code } = error as NodeJS.ErrnoException;
    processTerminal.err(`marketgate: ${name ?? 'Error'}${code ? ` (${code})` : ''}`);
    process.exitCode = 2;
  },
);
