import { sep } from 'node:path';

/** How each package manager runs the command of an installed package. */
const RUNNERS: Readonly<Record<string, string>> = {
  npm: 'npx',
  pnpm: 'pnpm exec',
  yarn: 'yarn',
  bun: 'bunx',
};

/**
 * The package manager that has started this process, as its scripts are told; else the one that has installed this file,
 * because `node server.mjs` says nothing about it.
 */
function packageManager(): string {
  const [starter = ''] = /^\w+/.exec(process.env.npm_config_user_agent ?? '') ?? [];
  if (Object.hasOwn(RUNNERS, starter)) return starter;
  if (process.versions.bun !== undefined) return 'bun';
  const folders = import.meta.dirname.split(sep);
  if (folders.includes('.pnpm')) return 'pnpm';
  return folders.includes('.yarn') ? 'yarn' : 'npm';
}

const RUN = `${RUNNERS[packageManager()]} marketgate`;

/** The command that prints the page about a code, as in `npx marketgate explain login_failed`. */
export const helpFor = (code: string): string => `${RUN} explain ${code}`;
