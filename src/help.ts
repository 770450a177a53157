/** How each package manager runs the command of an installed package. */
const RUNNERS: Readonly<Record<string, string>> = {
  npm: 'npx',
  pnpm: 'pnpm exec',
  yarn: 'yarn',
  bun: 'bunx',
};

/** The folder of this file; nothing in an app's bundle of ES modules, where the name does not exist. */
const HERE = typeof __dirname === 'string' ? __dirname : '';

/**
 * The command that runs `marketgate` here: by the package manager that has started this process, as its scripts and programs
 * are told. `node server.mjs` says nothing about it; then by the one whose folder this file is in, because `npx` can fail in
 * a project of pnpm.
 */
export function commandIn(environment: NodeJS.ProcessEnv, folder = HERE): string {
  const { npm_config_user_agent: agent = '', npm_execpath: path = '' } = environment;
  const [, manager = ''] =
    /^(npm|pnpm|yarn|bun)\b/.exec(agent) ??
    /(npm|pnpm|yarn|bun)[^/\\]*$/.exec(path) ??
    /[/\\]\.(pnpm|yarn)[/\\]/.exec(folder) ??
    [];
  return `${RUNNERS[manager] ?? (process.versions.bun ? 'bunx' : 'npx')} marketgate`;
}

/** The same for this process. */
export const SELF = commandIn(process.env);

/** The command that prints the page about a code, as in `npx marketgate explain login_failed`. */
export const helpFor = (code: string): string => `${SELF} explain ${code}`;
