import { strict as assert } from 'node:assert';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';

const { privateKey } = generateKeyPairSync('ed25519');
const pem = String(createPublicKey(privateKey).export({ format: 'pem', type: 'spki' }));
const exp = Math.floor(Date.now() / 1000) + 60;
const claims = { iss: 'https://shop.example', item: 1042, machine: 'm1', exp };
const sign = (changed, key = privateKey) =>
  new SignJWT({ ...claims, ...changed }).setProtectedHeader({ alg: 'EdDSA' }).sign(key);

assert.equal((await readReceipt(await sign({}), 'm1', pem)).item, 1042);
// A seller has several programs and one key.
for (const [changed, reason] of [
  [{ item: 7 }, /another item/],
  [{ machine: 'm2' }, /another machine/],
  [{ exp: exp - 120 }, /exp/],
  [{ exp: undefined }, /exp/],
  [{ iss: 'https://other.example' }, /iss/],
]) {
  await assert.rejects(readReceipt(await sign(changed), 'm1', pem), reason);
}
const forged = await sign({}, generateKeyPairSync('ed25519').privateKey);
await assert.rejects(readReceipt(forged, 'm1', pem), /signature/);
