import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { io as connect } from 'socket.io-client';
import { runShop } from './run-shop.mjs';

const PATH = { path: '/download', addTrailingSlash: false };

// The guard stands before the handshake: here one by HTTP, which can show the problem, and below WebSockets.
runShop(async ({ guard, itemOf, onError }) => {
  const server = createServer();
  const io = new Server(server, PATH);
  const isWebSocket = (req) => req.headers.upgrade !== undefined;
  io.engine.use((req, res, next) =>
    guard(req, res, (error) => {
      if (error === undefined || isWebSocket(req)) next(error);
      else onError(error, req, res, next);
    }),
  );
  io.engine.use((req, res, next) =>
    isWebSocket(req) ? next() : res.end(JSON.stringify(itemOf(req))),
  );
  io.on('connection', (socket) => socket.emit('item', itemOf(socket.request)));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();

  const visit = (code) =>
    new Promise((resolve) => {
      const options = { ...PATH, transports: ['websocket'], reconnection: false };
      const extraHeaders = { 'x-purchase-code': code };
      const socket = connect(`http://127.0.0.1:${port}`, { ...options, extraHeaders });
      const end = (outcome) => {
        socket.close();
        resolve(outcome);
      };
      socket.on('item', end);
      socket.on('connect_error', ({ message }) => end(message));
    });
  return {
    port,
    close: () => io.close(),
    without: ['login', 'broken'],
    async check({ supported, wrong }) {
      assert.deepEqual(await visit(supported), { item: 1042 });
      assert.equal(await visit(wrong), 'websocket error');
    },
  };
});
