import { strict as assert } from 'node:assert';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';

const { privateKey } = generateKeyPairSync('ed25519');
const pem = String(createPublicKey(privateKey).export({ format: 'pem', type: 'spki' }));
const shop = { iss: 'https://shop.example' };
const inADay = Math.floor(Date.now() / 1000) + 86_400;
const claims = { ...shop, item: 1042, machine: 'm1', exp: inADay };
const sign = (payload, key = privateKey) =>
  new SignJWT(payload).setProtectedHeader({ alg: 'EdDSA' }).sign(key);
const isRefused = async (receipt, reason) =>
  assert.rejects(readReceipt(await receipt, 'm1', pem), reason);

assert.equal((await readReceipt(await sign(claims), 'm1', pem)).item, 1042);
// A seller has several programs and one key.
await isRefused(sign({ ...claims, item: 7 }), /another item/);
await isRefused(sign({ ...claims, item: undefined }), /another item/);
await isRefused(sign({ ...claims, machine: 'm2' }), /another machine/);
await assert.rejects(
  readReceipt(await sign({ ...claims, machine: undefined }), undefined, pem),
  /machine/,
);
await isRefused(sign({ ...claims, exp: inADay - 2 * 86_400 }), /exp/);
await isRefused(sign({ ...claims, exp: undefined }), /exp/);
await isRefused(sign({ ...claims, iss: 'https://other.example' }), /iss/);
await isRefused(sign(claims, generateKeyPairSync('ed25519').privateKey), /signature/);
const [head, , mark] = (await sign({ ...claims, item: 7 })).split('.');
const changed = Buffer.from(JSON.stringify(claims)).toString('base64url');
await isRefused([head, changed, mark].join('.'), /signature/);
