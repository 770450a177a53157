import assert from 'node:assert/strict';
import { logger } from '../guide/logger.js';
import { assertClean, dayOfTheShop } from './observed.mjs';

const lines = [];
const secrets = await dayOfTheShop({ before: logger({ write: (line) => lines.push(line) }) });
assert.equal(lines.length, 15);
assertClean(lines.join(''), secrets);
console.log('works');
