// Behind a proxy by environment: as Node itself, and by undici's agent.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { KeyApi } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { EnvHttpProxyAgent } from 'undici';

const { BASE_URL, API_KEY, HOW } = process.env;

if (HOW) {
  const dispatcher = HOW === 'agent' ? new EnvHttpProxyAgent() : undefined;
  const keyApi = new KeyApi({ baseUrl: BASE_URL, apiKey: API_KEY, dispatcher, retries: 0 });
  const { username } = await keyApi.getAccount();
  console.log(username);
  await keyApi.close();
  await dispatcher?.close();
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
  const env = {
    ...{ BASE_URL: baseUrl, API_KEY: apiKey, PATH: process.env.PATH },
    ...{ HTTP_PROXY: `http://127.0.0.1:${proxy.address().port}`, NO_PROXY: '' },
  };
  const ask = async (more) => {
    const before = tunnels;
    const program = fileURLToPath(import.meta.url);
    const { stdout } = await promisify(execFile)(process.execPath, [program], {
      env: { ...env, ...more },
    });
    assert.equal(stdout, 'northlight\n');
    return tunnels - before;
  };
  assert.equal(await ask({ HOW: 'agent' }), 1);
  assert.equal(await ask({ HOW: 'agent', NO_PROXY: '127.0.0.1' }), 0);
  assert.equal(await ask({ HOW: 'node' }), 0, 'Node uses no proxy unless it is told to');
  if (Number.parseInt(process.versions.node, 10) > 20) {
    assert.equal(await ask({ HOW: 'node', NODE_USE_ENV_PROXY: '1' }), 1);
    assert.equal(await ask({ HOW: 'node', NODE_USE_ENV_PROXY: '1', NO_PROXY: '127.0.0.1' }), 0);
    assert.equal(await ask({ HOW: 'node', NODE_OPTIONS: '--use-env-proxy' }), 1);
  }
  proxy.closeAllConnections();
  proxy.close();
  await close();
  console.log('works');
}
