// As jest runs CommonJS: in a script where `import()` throws. Asking the service and counting guesses
// must do without it.
const assert = require('node:assert/strict');
const { once } = require('node:events');
const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { dirname } = require('node:path');
const vm = require('node:vm');
const express = require('express');
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
  const { errorHandler, KeyApi, requirePurchase } = load(require.resolve('marketgate'));
  const sandbox = createSandbox();
  const { baseUrl, apiKey } = await sandbox.listen(0);
  const keyApi = new KeyApi({ baseUrl, apiKey });
  const app = express();
  app.get('/', requirePurchase(keyApi), (_req, res) => res.sendStatus(204));
  app.use(errorHandler());
  const server = app.listen(0);
  await once(server, 'listening');
  const ask = async (code) => {
    const headers = { 'x-purchase-code': code };
    return (await fetch(`http://127.0.0.1:${server.address().port}/`, { headers })).status;
  };

  assert.equal(await ask(sandbox.codes.find(({ kind }) => kind === 'supported').code), 204);
  assert.equal(await ask('00000000-0000-4000-8000-000000000000'), 403);

  server.closeAllConnections();
  server.close();
  await keyApi.close();
  await sandbox.close();
}

void main();
