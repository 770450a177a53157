import { readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig } from 'tsup';
import ts from 'typescript';
import { openApiDocument } from './src/openapi/document.js';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

export default defineConfig(({ outDir = 'dist' }) => ({
  entry: {
    index: 'src/index.ts',
    sandbox: 'src/sandbox/index.ts',
    keyv: 'src/stores/keyv.ts',
    redis: 'src/stores/redis/index.ts',
    testing: 'src/testing/index.ts',
    cli: 'src/cli/main.ts',
  },
  format: ['esm', 'cjs'],
  target: 'node20',
  // The command line has nothing to import.
  dts: {
    entry: {
      index: 'src/index.ts',
      sandbox: 'src/sandbox/index.ts',
      keyv: 'src/stores/keyv.ts',
      redis: 'src/stores/redis/index.ts',
      testing: 'src/testing/index.ts',
    },
  },
  clean: true,
  esbuildOptions(options, { format }) {
    // The command line is run, never required. One build of the sandbox is enough: it shares no class
    // with the clients.
    const onlyOther = format === 'cjs' ? 'cli' : 'sandbox';
    const entries = Object.entries(options.entryPoints as Record<string, string>);
    options.entryPoints = Object.fromEntries(entries.filter(([name]) => name !== onlyOther));
  },
  sourcemap: false,
  treeshake: true,
  // Without splitting every entry would carry its own copy of a shared class, and `instanceof`
  // would fail between `marketgate` and `marketgate/sandbox`.
  splitting: true,
  // No `keepNames`: it wraps every function that is made, also those of each call. What is exported
  // keeps its name all the same, which test/package looks at.
  define: { __MARKETGATE_VERSION__: JSON.stringify(version) },
  esbuildPlugins: [
    {
      name: 'sandbox-once',
      setup(build) {
        const path = './sandbox.js';
        build.onResolve({ filter: /\/sandbox\/index\.js$/ }, () => ({ path, external: true }));
      },
    },
    {
      // Files that the sandbox reads from its own folder (style, script, clip) become text in the bundle.
      name: 'inline-assets',
      setup(build) {
        const read = /readFileSync\(new URL\('(.+?)', import\.meta\.url\), '(utf8|base64)'\)/g;
        build.onLoad({ filter: /[\\/]src[\\/]sandbox[\\/].+\.ts$/ }, async ({ path }) => {
          const code = await readFile(path, 'utf8');
          const inlined = code.replace(read, (_call, file: string, encoding: 'utf8' | 'base64') =>
            JSON.stringify(readFileSync(new URL(file, pathToFileURL(path)), encoding)),
          );
          return { contents: inlined, loader: 'ts' };
        });
      },
    },
  ],
  plugins: [
    {
      // jest runs CommonJS in a context where `import()` throws; undici is CommonJS itself, and
      // so are our own chunks.
      name: 'require-where-it-will-do',
      renderChunk(code) {
        if (this.format !== 'cjs') return undefined;
        const loads = /\bimport\((["'])(undici|\.\/[\w-]+\.(?:c?js))\1\)/g;
        return { code: code.replace(loads, 'Promise.resolve().then(() => require("$2"))') };
      },
    },
  ],
  async onSuccess() {
    // By name: with `*`, Node 23 and newer export "module.exports", too.
    await writeFile(join(outDir, 'sandbox.js'), "export { createSandbox } from './sandbox.cjs';\n");
    // Comments are a sixth of the tarball. What they say to users is in the types, too.
    for (const name of await readdir(outDir)) {
      if (/\.c?js$/.test(name)) await removeComments(join(outDir, name));
    }
    // Data, which no code imports.
    const document = `${JSON.stringify(openApiDocument(version), null, 2)}\n`;
    await writeFile(join(outDir, 'openapi.json'), document);
  },
}));

async function removeComments(file: string): Promise<void> {
  const compilerOptions = {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
    removeComments: true,
  };
  const { outputText } = ts.transpileModule(await readFile(file, 'utf8'), { compilerOptions });
  await writeFile(file, outputText);
}
