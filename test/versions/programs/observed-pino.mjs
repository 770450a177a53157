import assert from 'node:assert/strict';
import { pinoHttp } from 'pino-http';
import { createLogger } from '../guide/logger.js';
import { assertClean, dayOfTheShop } from './observed.mjs';

const lines = [];
const logger = createLogger({ write: (line) => lines.push(line) });
const secrets = await dayOfTheShop({ before: pinoHttp({ logger }) });
assert.equal(lines.length, 15);
// A logger of one's own writes what it is given, in any shape.
logger.child({ cookie: secrets.cookie }).info({ body: { purchase_code: secrets[0] } }, 'redeemed');
logger.warn(`GET /callback?auth_key=${secrets.authKey}`);
for (const line of lines) JSON.parse(line);
assertClean(lines.join(''), secrets);
console.log('works');
