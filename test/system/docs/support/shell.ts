import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { PRELOAD } from './run-block.js';

/** The commands of a block, a line each, and what stands behind them: `# 402 purchase_required`. */
export const commandsOf = (block: string) =>
  block
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, command = '', expected = ''] = /^(.*?)(?:\s+#\s(.*))?$/.exec(line) ?? [];
      return { line: command, expected };
    });

/** A shell in which `npx marketgate` is the built package. */
const npx = () => {
  const cli = join(inject('builtPackage'), 'node_modules/marketgate/dist/cli.cjs');
  return `npx() { if [ "$1" = marketgate ]; then shift; exec "${process.execPath}" --require "${PRELOAD}" "${cli}" "$@"; fi; command npx "$@"; }`;
};

/** Runs a command as a shell would, against a sandbox. Gives what it printed. */
export async function runCommand(line: string, env: Record<string, string>): Promise<string> {
  // The sandbox saves a file.
  const cwd = mkdtempSync(join(tmpdir(), 'marketgate-shell-'));
  const child = spawn('bash', ['-c', `${npx()}\n${line}`], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', ...env },
  });
  let output = '';
  // The sandbox goes on until it is stopped: here, when it has printed what it is started for.
  const isServer = /marketgate sandbox/.test(line);
  let isStopped = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (isServer && /Codes to try[\s\S]*\n.*\n/.test(output)) isStopped = child.kill('SIGINT');
    });
  }
  const [code, signal] = await once(child, 'close');
  rmSync(cwd, { recursive: true });
  if (code !== 0 && !isStopped)
    throw new Error(`"${line}" ended with ${code ?? signal}:\n${output}`);
  return output;
}
