// Runs a server of the guide "Other frameworks", as the page has it.
import { execFileSync, spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { runShop } from './run-shop.mjs';

const [framework = '', path = '/download'] = process.argv.slice(2);
const cwd = fileURLToPath(new URL('../guide', import.meta.url));
const next = fileURLToPath(new URL('../node_modules/next/dist/bin/next', import.meta.url));
const command = {
  next: [next, 'start'],
  'deno.js': ['run', '-A', 'deno.js'],
}[framework] ?? [framework];

runShop(async ({ services: { baseUrl, apiKey } }) => {
  const port = await freePort();
  const env = {
    ...{ ...process.env, PORT: port, NEXT_TELEMETRY_DISABLED: '1' },
    ...{ MARKETPLACE_BASE_URL: baseUrl, MARKETPLACE_API_KEY: apiKey },
  };
  const stdio = ['ignore', 'ignore', 'inherit'];
  if (framework === 'next') execFileSync(process.execPath, [next, 'build'], { cwd, env, stdio });
  const server = spawn(process.execPath, command, { cwd, env, stdio });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  await Promise.race([
    listening(port),
    ended.then((code) => Promise.reject(new Error(`it ended with ${code}`))),
  ]);
  const close = () => {
    server.kill();
    return ended;
  };
  return { port, path, close, limit: 10, without: ['login', 'middleware'], ...(await own(port)) };
});

/** What a visitor of this framework does otherwise. */
async function own(port) {
  if (framework !== 'socket-io.js') return {};
  const { io } = await import('socket.io-client');
  const ask = (_path, { headers, localAddress }) =>
    new Promise((resolve) => {
      const auth = { code: headers['x-purchase-code'] };
      const options = { auth, localAddress, transports: ['websocket'], reconnection: false };
      const socket = io(`http://127.0.0.1:${port}`, options);
      const end = (status, answer) => {
        socket.close();
        const { retryAfter } = answer;
        resolve({ status, text: JSON.stringify(answer), headers: { 'retry-after': retryAfter } });
      };
      socket.on('download', (answer) => end(200, answer));
      socket.on('connect_error', ({ data, message }) => end(data?.status, data ?? { message }));
    });
  return { ask };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function listening(port) {
  const reached = await new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
  if (reached) return;
  await new Promise((resolve) => setTimeout(resolve, 50));
  await listening(port);
}
