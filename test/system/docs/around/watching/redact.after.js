import assert from 'node:assert/strict';
import { inspect } from 'node:util';

// However a record is written down, its secrets are gone, and what stands beside them stays.
const { stringify } = JSON;
const SECRET = 'k1Secret';
const secretNames = [
  'purchase_code',
  'X-Purchase-Code',
  'api_key',
  'Authorization',
  'Cookie',
  'access_token',
];
const secretValues = [
  SECRET,
  `Bearer ${SECRET}`,
  `a="${SECRET}"; b=${SECRET}`,
  `x\n${SECRET}`,
  `a&b=${SECRET}`,
];
const inQuery = (name, value) => `/a?stays=1&${new URLSearchParams([[name, value]])}`;
const shapes = {
  field: (name, value) => ({ stays: 1, [name]: value, z: 1 }),
  list: (name, value) => ({ stays: 1, [name]: [value, value], z: 1 }),
  attribute: (name, value) => ({
    stays: 1,
    [`http.request.header.${name.toLowerCase()}`]: [value],
  }),
  rawHeaders: (name, value) => ({ stays: 1, rawHeaders: ['host', 'x', name, value] }),
  'names and values': (name, value) => ({
    stays: 1,
    headers: [
      { name, value },
      { key: name, value },
    ],
  }),
  query: (name, value) => ({ url: inQuery(name, value) }),
  'query in a query': (name, value) => ({ url: inQuery('next', inQuery(name, value)) }),
  multipart: (name, value) => ({
    body: `stays\r\n--a\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n--a--`,
  }),
  headers: (name, value) => ({
    stays: 1,
    headers: new Headers([[name, value.replace('\n', ' ')]]),
  }),
};
const writers = {
  itself: (record) => record,
  json: stringify,
  'json in json': (record) => stringify({ stays: 1, body: stringify(record) }),
  'json in a query': (record) => inQuery('b', stringify(record)),
  inspect: (record) => inspect(record, { depth: 9 }),
};
for (const name of secretNames) {
  for (const value of secretValues) {
    for (const [shape, make] of Object.entries(shapes)) {
      for (const [writer, write] of Object.entries(writers)) {
        const written = write(make(name, value));
        const seen = inspect(redact(written), { depth: 9 });
        assert.ok(
          !seen.includes(SECRET),
          `${writer}, ${shape}: ${inspect(written)} became ${seen}`,
        );
        if (inspect(written).includes(SECRET)) assert.match(seen, /stays/);
      }
    }
  }
}
for (const text of [
  '{"code":"purchase_code_invalid"}',
  'no purchase_code came',
  'cookie: [redacted]',
]) {
  assert.equal(redact(text), text);
}
// Visitors choose such texts: with a pattern that is not linear, these would take minutes.
for (const part of ['purchase_code[]', 'purchase_code\r\nx\r\n', '\\"', '[', '%25', "' +\n '"]) {
  redact(`purchase_code=${part.repeat(2 ** 17 / part.length)}`);
}
