import { readFileSync, rmSync } from 'node:fs';
import { cp, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, extname, join, resolve } from 'node:path';
import { defineConfig } from 'tsup';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

/** What can be imported. The command line has nothing to import, and no types. */
const IMPORTED = {
  entry: {
    index: 'src/index.ts',
    sandbox: 'src/sandbox/index.ts',
    keyv: 'src/stores/keyv.ts',
    redis: 'src/stores/redis/index.ts',
    testing: 'src/testing/index.ts',
  },
};

/** The folders of the packages that are built in. */
const builtIn = new Set<string>();

/** The licence of each package that is built in. */
const licences = () =>
  Promise.all(
    [...builtIn].sort().map(async (folder) => {
      const names = await readdir(folder);
      const [file] = [/^licen[cs]e/i, /^readme/i].flatMap(
        (name) => names.find((each) => name.test(each)) ?? [],
      );
      const text = file === undefined ? '' : await readFile(join(folder, file), 'utf8');
      // Some have it at the end of their page.
      const licence = text.replace(/^.*^## License\s+/ims, '');
      if (!/copyright/i.test(licence)) throw new Error(`${folder} has no licence`);
      return `${basename(folder)}\n\n${licence}`;
    }),
  );

export default defineConfig(({ outDir = 'dist' }) => ({
  entry: { ...IMPORTED.entry, cli: 'src/cli/main.ts' },
  // One build, which `import` finds by its names: a class is the same class however it was loaded, and
  // Node.js starts CommonJS in less time.
  format: ['cjs'],
  target: 'node20',
  dts: IMPORTED,
  sourcemap: false,
  treeshake: true,
  // Built in: zod, because the parts that are used load in 5 ms where the whole package takes 37; express-session for the
  // shop that `marketgate demo` starts, and nothing else.
  noExternal: [/^zod/, 'express-session'],
  // Without splitting every entry would carry its own copy of a shared class, and `instanceof`
  // would fail between `marketgate` and `marketgate/sandbox`.
  splitting: true,
  // No `keepNames`: it wraps every function that is made, also those of each call. What is exported
  // keeps its name all the same, which test/package looks at.
  define: {
    __MARKETGATE_VERSION__: JSON.stringify(version),
    'import.meta.dirname': '__dirname',
  },
  esbuildPlugins: [
    {
      // What the sandbox reads becomes a part of it.
      name: 'files-of-the-sandbox',
      setup(build) {
        build.onLoad({ filter: /[\\/]src[\\/]sandbox[\\/]files\.ts$/ }, async () => {
          const folder = 'src/sandbox/files';
          const names = (await readdir(folder, { recursive: true })).filter((name) =>
            extname(name),
          );
          const files = names.map((name) => {
            const encoding = /\.(mp3|webm)$/.test(name) ? 'base64' : 'utf8';
            const text = readFileSync(join(folder, name), encoding);
            return [name.replaceAll('\\', '/'), [text, encoding]];
          });
          const contents = `const FILES = new Map(${JSON.stringify(files)});
export const fileOf = (name) => FILES.has(name) ? Buffer.from(...FILES.get(name)) : undefined;
export const textFile = (name) => String(fileOf(name));`;
          return { contents, loader: 'js' };
        });
      },
    },
    {
      name: 'licences',
      setup(build) {
        build.onEnd(({ metafile }) => {
          for (const path of Object.keys(metafile?.inputs ?? {})) {
            const [, folder] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
            if (folder !== undefined) builtIn.add(folder);
          }
        });
      },
    },
  ],
  plugins: [
    {
      // `clean` would also remove the types below, which are there before the others are made.
      name: 'clean',
      buildStart: () => rmSync(outDir, { recursive: true, force: true }),
    },
    {
      // jest runs CommonJS in a context where `import()` throws; undici and our own chunks need none.
      name: 'require-where-it-will-do',
      renderChunk(code) {
        const loads = /\bimport\((["'])(undici|\.\/[\w-]+\.(?:c?js))\1\)/g;
        return { code: code.replace(loads, 'Promise.resolve().then(() => require("$2"))') };
      },
    },
  ],
  async onSuccess() {
    // Comments are a sixth of the tarball. What they say to users is in the types, too. Tests can do with them.
    for (const name of outDir === 'dist' ? await readdir(outDir) : []) {
      if (name.endsWith('.cjs')) await removeComments(join(outDir, name));
    }
    const require = createRequire(import.meta.url);
    for (const name of Object.keys(IMPORTED.entry)) {
      // By name: with `*`, Node 23 and newer export "module.exports", too.
      const names = Object.keys(require(resolve(outDir, `${name}.cjs`))).sort();
      const list = `export { ${names.join(', ')} } from './${name}.cjs';\n`;
      await writeFile(join(outDir, `${name}.js`), list);
      // `import` looks for the names in the text of the CommonJS file, which takes a third of the time of
      // loading it all. So that file is a short one.
      const main = `./${name}.main.cjs`;
      await rename(join(outDir, `${name}.cjs`), join(outDir, main));
      const lines = names.map((each) => `exports.${each} = main.${each};\n`).join('');
      await writeFile(
        join(outDir, `${name}.cjs`),
        `'use strict';\nconst main = require('${main}');\n${lines}`,
      );
      await writeFile(join(outDir, `${name}.d.ts`), `export * from './${name}.cjs';\n`);
    }
    await writeFile(join(outDir, 'LICENSES.txt'), (await licences()).join('\n'));
    await cp('examples/shop/public', join(outDir, 'public'), { recursive: true });
  },
}));

async function removeComments(file: string): Promise<void> {
  const { default: ts } = await import('typescript');
  const compilerOptions = {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
    removeComments: true,
  };
  const { outputText } = ts.transpileModule(await readFile(file, 'utf8'), { compilerOptions });
  await writeFile(file, outputText);
}
