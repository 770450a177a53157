// As jest runs CommonJS: in a script where `import()` throws. Asking the service and counting guesses
// must do without it.
const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { dirname } = require('node:path');
const vm = require('node:vm');
const { createSandbox } = require('marketgate/sandbox');

const loaded = new Map();

/** A file and what it requires of its own package, without a callback for `import()`. */
function load(file) {
  const known = loaded.get(file);
  if (known) return known.exports;
  const module = { exports: {} };
  loaded.set(file, module);
  const requireThere = createRequire(file);
  const requireOne = (name) =>
    name.startsWith('./') ? load(requireThere.resolve(name)) : requireThere(name);
  const wrapped = `(function (exports, require, module, __filename, __dirname) {${readFileSync(file, 'utf8')}\n})`;
  const run = new vm.Script(wrapped, { filename: file }).runInThisContext();
  run.call(module.exports, module.exports, requireOne, module, file, dirname(file));
  return module.exports;
}

async function main() {
  await assert.rejects(new vm.Script("import('undici')").runInThisContext(), {
    code: 'ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING',
  });
  const { KeyApi, checkPurchase } = load(require.resolve('marketgate'));
  const sandbox = createSandbox();
  const { baseUrl, apiKey } = await sandbox.listen(0);
  const keyApi = new KeyApi({ baseUrl, apiKey });
  const verdictOf = async (code) =>
    (await checkPurchase(keyApi, code, { client: '203.0.113.7' })).verdict;
  const { code } = sandbox.codes.find(({ kind }) => kind === 'supported');
  assert.equal(await verdictOf(code), 'valid');
  assert.equal(await verdictOf('00000000-0000-4000-8000-000000000000'), 'invalid');
  await keyApi.close();
  await sandbox.close();
}

void main();
