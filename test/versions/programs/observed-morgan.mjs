import assert from 'node:assert/strict';
import { accessLog } from '../guide/access-log.js';
import { assertClean, dayOfTheShop } from './observed.mjs';

const lines = [];
const secrets = await dayOfTheShop({ before: accessLog({ write: (line) => lines.push(line) }) });
assert.equal(lines.length, 15);
assertClean(lines.join(''), secrets, 5); // it writes no bodies
console.log('works');
