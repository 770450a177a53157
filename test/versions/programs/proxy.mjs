// Behind a proxy by environment: the program runs once more, with what the proxy needs. No host of the real world is asked.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { KeyApi } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';

const { BASE_URL, API_KEY } = process.env;

if (BASE_URL) {
  const options = { baseUrl: BASE_URL, apiKey: API_KEY, retries: 0, allowInsecure: true };
  const keyApi = new KeyApi(options);
  console.log((await keyApi.getAccount()).username);
  await keyApi.close();
} else {
  const { baseUrl, apiKey, close } = await createSandbox().listen();
  const { port } = new URL(baseUrl);
  const proxy = createServer();
  let tunnels = 0;
  proxy.on('connect', (_req, socket) => {
    tunnels++;
    // Whatever the name is, which only the proxy knows.
    const through = connect(Number(port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      through.pipe(socket).pipe(through);
    });
    socket.on('error', () => through.destroy());
    through.on('error', () => socket.destroy());
  });
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const HTTP_PROXY = `http://127.0.0.1:${proxy.address().port}`;
  const ask = async (url, more = {}) => {
    const before = tunnels;
    const program = fileURLToPath(import.meta.url);
    const env = { BASE_URL: url, API_KEY: apiKey, PATH: process.env.PATH, HTTP_PROXY, ...more };
    const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
    assert.equal(stdout, 'northlight\n');
    return tunnels - before;
  };
  assert.equal(await ask('http://market.example'), 1);
  assert.equal(await ask(baseUrl), 0, 'never for loopback');
  await assert.rejects(ask('http://market.example', { NO_PROXY: 'market.example' }));
  proxy.closeAllConnections();
  proxy.close();
  await close();
  console.log('works');
}
