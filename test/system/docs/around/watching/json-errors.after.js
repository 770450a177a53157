import assert from 'node:assert/strict';
import { once } from 'node:events';
import express from 'express';

const code = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';
const logged = [];
console.error = (...line) => logged.push(...line);
const app = express().post('/check', express.json(), (_req, res) => res.sendStatus(204));
const server = app.use(withoutBodies).listen(0);
await once(server, 'listening');
const url = `http://127.0.0.1:${server.address().port}/check`;
const headers = { 'content-type': 'application/json' };
const send = async (body) => (await fetch(url, { method: 'POST', headers, body })).status;
assert.equal(await send(`{"purchase_code":"${code}"}`), 204);
assert.equal(await send(`{"purchase_code":"${code}"`), 400);
server.close();
server.closeAllConnections();
// Express logs after it has answered.
process.once('exit', () => assert.deepEqual(logged, []));
