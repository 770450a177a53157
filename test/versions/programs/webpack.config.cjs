module.exports = {
  mode: 'production',
  target: 'node',
  entry: './programs/express.mjs',
  output: { path: `${process.cwd()}/out`, filename: 'app.cjs' },
};
