import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUILT } from '../harness/prepare.mjs';

const APP = ['express@5', 'passport@0.7'];
const BY_HAND = ['zod@4', 'lru-cache@11', 'undici@7', 'passport-oauth2@1'];

const npm = (args, cwd) =>
  execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

/** The bytes and the packages that `npm install` of these leaves in an empty folder. */
function install(wanted) {
  const folder = mkdtempSync(join(tmpdir(), 'marketgate-install-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    npm(['install', '--ignore-scripts', '--no-audit', '--no-fund', ...wanted], folder);
    const modules = join(folder, 'node_modules');
    let [bytes, packages] = [0, 0];
    for (const entry of readdirSync(modules, { withFileTypes: true, recursive: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      bytes += statSync(path).size;
      // Folders inside a package have such files too; a package's own is right below its name.
      if (/node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path)) packages++;
    }
    return { bytes, packages };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export default {
  title: 'Installed size',
  about: `What \`npm install\` adds to an app that has express and passport. By hand: zod, lru-cache, undici and passport-oauth2.`,
  rounds: 1,
  async measure({ side }) {
    const packed = () => {
      const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', tmpdir()];
      return join(tmpdir(), npm(args, BUILT).trim());
    };
    const base = install(APP);
    const all = install([...APP, ...(side === 'byHand' ? BY_HAND : [packed()])]);
    const megabytes = (all.bytes - base.bytes) / 1e6;
    return { megabytes, packages: all.packages - base.packages, answer: true };
  },
  metrics: [
    { key: 'megabytes', title: 'MB', most: 0.7 },
    { key: 'packages', title: 'packages', most: 1.4 },
  ],
};
