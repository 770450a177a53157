import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { mustRun } from './run-program.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the tarball that `npm publish` would send. */
    tarball: string;
    /** The paths in it, sorted, as `npm pack` reports them. */
    packedFiles: string[];
    /** Projects with the tarball and nothing else of this repository, by the Express they have. */
    projects: { express5: string; express4: string };
  }
}

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

/** Packs the package once and installs it the way a user would: in empty projects, from the tarball. */
export default async function packAndInstall({ provide }: TestProject) {
  if (!existsSync(join(REPOSITORY, 'dist')))
    throw new Error('There is no dist: run "npm run build".');
  const workplace = await mkdtemp(join(tmpdir(), 'marketgate-package-'));
  try {
    // dist is built already; without its scripts npm prints nothing but the JSON.
    const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', workplace];
    const printed = await mustRun('npm', pack, { cwd: REPOSITORY });
    const [packed] = JSON.parse(printed) as [{ filename: string; files: { path: string }[] }];
    const tarball = join(workplace, packed.filename);

    const { devDependencies } = JSON.parse(
      await readFile(join(REPOSITORY, 'package.json'), 'utf8'),
    ) as { devDependencies: Record<string, string> };
    const pin = (name: string) => ({ [name]: devDependencies[name] ?? 'latest' });
    const shared = {
      marketgate: `file:${tarball}`,
      ...pin('passport'),
      ...pin('express-session'),
      ...pin('@types/node'),
      ...pin('@types/passport'),
    };
    const express4 = (devDependencies.express4 ?? '').replace('npm:express@', '');

    const projects = {
      express5: join(workplace, 'express5'),
      express4: join(workplace, 'express4'),
    };
    await Promise.all([
      install(projects.express5, { ...shared, ...pin('express'), ...pin('@types/express') }),
      install(projects.express4, { ...shared, express: express4, '@types/express': '^4.17.0' }),
    ]);

    provide('tarball', tarball);
    provide('packedFiles', packed.files.map(({ path }) => path).sort());
    provide('projects', projects);
  } catch (error) {
    await rm(workplace, { recursive: true, force: true });
    throw error;
  }
  return () => rm(workplace, { recursive: true, force: true });
}

async function install(project: string, dependencies: Record<string, string>): Promise<void> {
  await mkdir(project);
  await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, dependencies }));
  const consumers = join(project, 'consumers');
  await cp(join(REPOSITORY, 'test/package/consumers'), consumers, { recursive: true });
  // The shop of `npm run matrix`, and the one example that is written for an installed package.
  for (const folder of ['test/versions/programs', 'examples/commonjs-express4']) {
    await cp(join(REPOSITORY, folder), join(consumers, basename(folder)), { recursive: true });
  }
  const quiet = ['--no-audit', '--no-fund', '--no-progress', '--loglevel=error'];
  await mustRun('npm', ['install', '--prefer-offline', '--ignore-scripts', ...quiet], {
    cwd: project,
    timeout: 110_000,
  });
}
