module.exports = {
  mode: 'production',
  target: 'node',
  entry: './apps/express.mjs',
  output: { path: `${process.cwd()}/out`, filename: 'app.cjs' },
};
