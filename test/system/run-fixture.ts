import { copyFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { inject } from 'vitest';
import { runProgram } from '../package/run-program.js';

/** Runs a program with Node, next to the built package, where its imports are found. */
export function runFixture(url: URL, flags: string[], args: string[]) {
  const cwd = inject('builtPackage');
  const program = join(cwd, basename(url.pathname));
  copyFileSync(url, program);
  return runProgram(process.execPath, [...flags, program, ...args], { cwd });
}
