import { execFile } from 'node:child_process';

/** What a program that ran to its end left behind. */
export interface Outcome {
  code: number | string | null;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end; a non-zero exit is an outcome, not an exception. */
export function runProgram(
  command: string,
  args: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv; timeout?: number },
): Promise<Outcome> {
  const { cwd, env = {}, timeout = 50_000 } = options;
  return new Promise((resolve) => {
    execFile(
      command,
      args,
      {
        ...{ cwd, timeout, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 },
        // npm is a script there.
        shell: process.platform === 'win32' && command === 'npm',
      },
      (error, stdout, stderr) => {
        const code = error ? (error.code ?? (error.killed ? 'timeout' : null)) : 0;
        resolve({ code, stdout, stderr });
      },
    );
  });
}

/** As {@link runProgram}, for a step that must succeed; says what was printed when it does not. */
export async function mustRun(...args: Parameters<typeof runProgram>): Promise<string> {
  const { code, stdout, stderr } = await runProgram(...args);
  if (code === 0) return stdout;
  throw new Error(`${args[0]} ${args[1].join(' ')} ended with ${code}:\n${stdout}\n${stderr}`);
}
