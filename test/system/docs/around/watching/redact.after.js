import assert from 'node:assert/strict';
import { inspect } from 'node:util';

// However a record is written down, its secrets are gone, and what stands beside them stays.
const SECRET = 'k1Secret';
const inQuery = (name, value) => `/a?stays=1&${new URLSearchParams([[name, value]])}`;
const shapes = [
  (name, value) => ({ stays: 1, [name]: value, z: 1 }),
  (name, value) => ({ stays: 1, [`http.request.header.${name.toLowerCase()}`]: [value, value] }),
  (name, value) => ({ stays: 1, rawHeaders: ['host', 'x', name, value] }),
  (name, value) => ({ stays: 1, headers: [{ key: name, value }], more: new Map([[name, value]]) }),
  (name, value) => ({ url: inQuery('next', inQuery(name, value)) }),
  (name, value) => ({
    body: `stays\r\n--a\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n--a--`,
  }),
];
const writers = [
  (record) => record,
  JSON.stringify,
  (record) => JSON.stringify({ stays: 1, body: JSON.stringify(record) }),
  (record) => inQuery('b', JSON.stringify(record)),
  (record) => inspect(record, { depth: 9 }),
];
for (const name of ['purchase_code', 'X-Purchase-Code', 'Authorization', 'access_token']) {
  for (const value of [SECRET, `Bearer ${SECRET}`, `a="${SECRET}"; b=${SECRET}`]) {
    const records = shapes.map((make) => make(name, value));
    for (const written of records.flatMap((record) => writers.map((write) => write(record)))) {
      const seen = inspect(redact(written), { depth: 9 });
      assert.ok(!seen.includes(SECRET), `${inspect(written)} became ${seen}`);
      if (inspect(written).includes(SECRET)) assert.match(seen, /stays/);
    }
  }
}
assert.equal(redact('{"code":"purchase_code_invalid"}'), '{"code":"purchase_code_invalid"}');
// Visitors choose such texts: with a pattern that is not linear, these would take minutes.
for (const part of ['purchase_code[]', 'purchase_code\r\nx\r\n', '\\"', '[', '%25', "' +\n '"]) {
  redact(`purchase_code=${part.repeat(2 ** 16 / part.length)}`);
}
