import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUILT } from '../harness/prepare.mjs';

const APP = ['express@5', 'passport@0.7'];
const BASE = 'an app: express, passport';

const npm = (args, cwd) =>
  execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

const LIMIT = 'zod, lru-cache, undici, passport-oauth2';
const MEGABYTES = { name: 'megabytes', title: 'MB', base: BASE, limit: LIMIT };
const PACKAGES = { name: 'packages', title: 'packages', base: BASE, limit: LIMIT };
const ADDED = { variant: 'marketgate', isAbsolute: true };

/** The bytes and the packages below a folder of modules. */
function weigh(folder) {
  let bytes = 0;
  let packages = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    bytes += statSync(path).size;
    // Folders inside a package have such files too; a package's own stands right below its name.
    if (/node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path)) packages++;
  }
  return { megabytes: bytes / 1e6, packages };
}

export default {
  name: 'install',
  title: 'Installed size',
  about:
    'What `npm install` adds to an app that has express and passport, with the versions of their own packages.',
  rounds: 1,
  variants: {
    [BASE]: [],
    marketgate: ['marketgate'],
    [LIMIT]: ['zod@4', 'lru-cache@11', 'undici@7', 'passport-oauth2@1'],
  },
  groupOf: (name) => name,
  async measure(names) {
    const folder = mkdtempSync(join(tmpdir(), 'marketgate-install-'));
    try {
      writeFileSync(join(folder, 'package.json'), '{ "private": true }');
      const packed = () =>
        join(folder, npm(['pack', BUILT, '--ignore-scripts', '--silent'], folder).trim());
      const wanted = names.map((name) => (name === 'marketgate' ? packed() : name));
      npm(['install', '--ignore-scripts', '--no-audit', '--no-fund', ...APP, ...wanted], folder);
      return { ...weigh(join(folder, 'node_modules')), answer: true };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  metrics: [MEGABYTES, PACKAGES],
  goals: [
    { ...ADDED, metric: MEGABYTES, most: 8, what: 'MB that marketgate adds' },
    { ...ADDED, metric: PACKAGES, most: 10, what: 'packages that marketgate adds' },
  ],
};
