import commonjs from '@rollup/plugin-commonjs';
import json from '@rollup/plugin-json';
import resolve from '@rollup/plugin-node-resolve';

export default {
  input: 'programs/express.mjs',
  output: { dir: 'out', entryFileNames: 'app.mjs', chunkFileNames: '[name]-[hash].mjs' },
  plugins: [
    resolve({ preferBuiltins: true, exportConditions: ['node'] }),
    // undici requires it where it is there; as an import it would have to be, and Node 20 has none.
    commonjs({ ignore: ['node:sqlite'] }),
    json(),
  ],
  onwarn() {},
};
