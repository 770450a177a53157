import { spawn } from 'node:child_process';

const PROGRAMS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  // Not `start`: that goes through a shell, which reads more than an address into an address.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Opens an http address in the user's browser, if there is one; nobody is told when there is none. */
export function openInBrowser(url: string): void {
  const [program, ...args] = PROGRAMS[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, new URL(url).href], { stdio: 'ignore', detached: true });
  child.once('error', () => undefined);
  child.unref();
}
