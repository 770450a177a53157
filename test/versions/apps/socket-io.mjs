import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { io as connect } from 'socket.io-client';
import { listening, runShop } from './shop.mjs';

// The guard stands before the handshake: here one by HTTP, which can show the problem, and below WebSockets.
runShop(async ({ guard, itemOf, onError }) => {
  const server = createServer();
  const io = new Server(server, { path: '/download', addTrailingSlash: false });
  io.engine.use((req, res, next) => {
    const isWebSocket = req.headers.upgrade !== undefined;
    guard(req, res, (error) => {
      if (error === undefined || isWebSocket) next(error);
      else onError(error, req, res, next);
    });
  });
  io.engine.use((req, res, next) => {
    if (req.headers.upgrade !== undefined) next();
    else res.end(JSON.stringify(itemOf(req)));
  });
  io.on('connection', (socket) => socket.emit('item', itemOf(socket.request)));
  const { port } = await listening(server);

  const visit = (code) =>
    new Promise((resolve) => {
      const options = { path: '/download', addTrailingSlash: false, transports: ['websocket'] };
      const extraHeaders = { 'x-purchase-code': code };
      const socket = connect(`http://127.0.0.1:${port}`, {
        ...options,
        extraHeaders,
        reconnection: false,
      });
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
