// Behind a proxy by environment, as Node itself: the program runs once more, with what the proxy needs.
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
  const keyApi = new KeyApi({ baseUrl: BASE_URL, apiKey: API_KEY, retries: 0 });
  console.log((await keyApi.getAccount()).username);
  await keyApi.close();
} else {
  const { baseUrl, apiKey, close } = await createSandbox().listen();
  const proxy = createServer();
  let tunnels = 0;
  proxy.on('connect', ({ url }, socket) => {
    tunnels++;
    const { hostname, port } = new URL(`http://${url}`);
    const through = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      through.pipe(socket).pipe(through);
    });
    socket.on('error', () => through.destroy());
    through.on('error', () => socket.destroy());
  });
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const HTTP_PROXY = `http://127.0.0.1:${proxy.address().port}`;
  const env = { BASE_URL: baseUrl, API_KEY: apiKey, PATH: process.env.PATH, HTTP_PROXY };
  const ask = async (more) => {
    const before = tunnels;
    const program = fileURLToPath(import.meta.url);
    const options = { env: { ...env, NO_PROXY: '', ...more } };
    const { stdout } = await promisify(execFile)(process.execPath, [program], options);
    assert.equal(stdout, 'northlight\n');
    return tunnels - before;
  };
  assert.equal(await ask({}), 0, 'Node uses no proxy unless it is told to');
  if (Number.parseInt(process.versions.node, 10) > 20) {
    assert.equal(await ask({ NODE_USE_ENV_PROXY: '1' }), 1);
    assert.equal(await ask({ NODE_USE_ENV_PROXY: '1', NO_PROXY: '127.0.0.1' }), 0);
  }
  proxy.closeAllConnections();
  proxy.close();
  await close();
  console.log('works');
}
