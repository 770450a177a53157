import assert from 'node:assert/strict';
import { inspect } from 'node:util';

assert.deepEqual(
  redact({
    url: '/callback?auth_key=k1&x=1',
    headers: {
      referer: 'https://a.example/?next=%2Fcallback%3Fauth_key%3Dk1',
      Cookie: 'a="k1"; b=k1',
    },
    'http.request.header.x_purchase_code': ['k1'],
    'http.request.header.cookie.shop': 'k1',
    body: '{"purchase_code": "k1", "more": 1}',
    bodies: [
      '{"purchase_code":" k1","x":"y"}',
      String.raw`"{\"purchase_code\":\"\\tk1\\n\",\"x\":1}"`,
      '{"purchase_code":["k1","k1"],"x":1}',
      '{"purchase_code":"\u200bk1',
      'purchase%5Fcode=k1&a%5Bpurchase_code%5D=k1&purchase_code[]=+k1&purchase_code=\\k1&x=1',
      '--a\r\nContent-Disposition: form-data; name="purchase_code"\r\n\r\nk1\r\n--a--',
      "{ cookies: { a: 'k1' }, x: 1 }",
      "[ 'x-purchase-code', 'k1', 'host', 'x' ]",
      'Cookie: a="k1"; b=k1\r\nhost: x',
    ],
    list: [{ access_token: 'k1' }, null, undefined, 7, new Date(0)],
    headersOfAResponse: Object.assign(Object.create(null), { 'Set-Cookie': ['k1'] }),
    rawHeaders: ['X-Purchase-Code', 'k1', 'host', 'x'],
    query: new URLSearchParams({ api_key: 'k1', x: '1' }),
    map: new Map([['purchase_code', 'k1']]),
    fetched: new Headers({ cookie: 'k1', host: 'x' }),
    har: [{ name: 'cookie', value: 'k1' }],
  }),
  {
    url: '/callback?auth_key=[redacted]&x=1',
    headers: {
      referer: 'https://a.example/?next=%2Fcallback%3Fauth_key%3D[redacted]',
      Cookie: '[redacted]',
    },
    'http.request.header.x_purchase_code': '[redacted]',
    'http.request.header.cookie.shop': '[redacted]',
    body: '{"purchase_code": "[redacted]", "more": 1}',
    bodies: [
      '{"purchase_code":"[redacted]","x":"y"}',
      String.raw`"{\"purchase_code\":\"[redacted]\",\"x\":1}"`,
      '{"purchase_code":"[redacted]","x":1}',
      '{"purchase_code":"[redacted]"',
      'purchase%5Fcode=[redacted]&a%5Bpurchase_code%5D=[redacted]&purchase_code[]=[redacted]&purchase_code=[redacted]&x=1',
      '--a\r\nContent-Disposition: form-data; name="purchase_code"\r\n\r\n[redacted]\r\n--a--',
      '{ cookies: [redacted], x: 1 }',
      "[ 'x-purchase-code', '[redacted]', 'host', 'x' ]",
      'Cookie: [redacted]\r\nhost: x',
    ],
    list: [{ access_token: '[redacted]' }, null, undefined, 7, new Date(0)],
    headersOfAResponse: { 'Set-Cookie': '[redacted]' },
    rawHeaders: ['X-Purchase-Code', '[redacted]', 'host', 'x'],
    query: { api_key: '[redacted]', x: '1' },
    map: { purchase_code: '[redacted]' },
    fetched: { cookie: '[redacted]', host: 'x' },
    har: [{ name: 'cookie', value: '[redacted]' }],
  },
);

// What names no value stays, and twice is as once.
for (const text of [
  '{"code":"purchase_code_invalid","detail":"stays"}',
  'MarketgateError: api_key_rejected: stays',
  'no purchase_code came',
  '{"cookie":"[redacted]","x":1}',
  'cookie: [redacted]',
]) {
  assert.equal(redact(text), text);
}

// Whatever writes a record down: none of it shows the value, and what stands beside stays.
const SECRET = 'k1Secret';
const { stringify } = JSON;
const inQuery = (name, value) => `/a?stays=1&${new URLSearchParams([[name, value]])}`;
const writers = {
  itself: (record) => record,
  json: (record) => stringify(record),
  'json, indented': (record) => stringify(record, null, 2),
  'json in json': (record) => stringify({ stays: 1, body: stringify(record) }),
  'json in json in json': (record) => stringify({ m: stringify({ body: stringify(record) }) }),
  'json in a URL, as a browser has it': (record) =>
    new URL(`http://x/?b=${stringify(record)}`).href,
  'json in a query': (record) => inQuery('b', stringify(record)),
  'json in a component': (record) => `/a?b=${encodeURIComponent(stringify(record))}&c=1`,
  'json in a query in a query': (record) => inQuery('next', inQuery('b', stringify(record))),
  'json in a query in json': (record) => stringify({ url: inQuery('b', stringify(record)) }),
  inspect: (record) => inspect(record, { depth: 9 }),
  'inspect, on one line': (record) =>
    inspect(record, { depth: 9, breakLength: Number.POSITIVE_INFINITY }),
  'inspect of json': (record) => inspect({ body: stringify(record) }),
  'inspect in json': (record) => stringify({ m: inspect(record, { depth: 9 }) }),
};
const part = (name, value, more = '') =>
  `--a\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
const shapes = {
  field: (name, value) => ({ stays: 1, [name]: value, z: 1 }),
  list: (name, value) => ({ stays: 1, [name]: [value, value], z: 1 }),
  nested: (name, value) => ({ a: { b: [{ [name]: value }] }, stays: 1 }),
  'pairs of headers': (name, value) => ({
    stays: 1,
    headers: [
      ['a', 'b'],
      [name, value],
    ],
  }),
  rawHeaders: (name, value) => ({ stays: 1, rawHeaders: ['host', 'x', name, value] }),
  'names and values': (name, value) => ({
    stays: 1,
    headers: [
      { name, value },
      { key: name, value },
    ],
  }),
  map: (name, value) => ({ stays: 1, map: new Map([[name, value]]) }),
  params: (name, value) => ({ stays: 1, params: new URLSearchParams([[name, value]]) }),
  query: (name, value) => ({ url: inQuery(name, value) }),
  'query in a query': (name, value) => ({ url: inQuery('next', inQuery(name, value)) }),
  multipart: (name, value) => ({ body: `${part('stays', 1)}${part(name, value)}--a--` }),
  'multipart with a type': (name, value) => ({
    body: `${part('stays', 1)}${part(name, value, '\r\nContent-Type: text/plain')}--a--`,
  }),
  'a head': (name, value) => ({ head: `stays: 1\r\n${name}: ${value.replace('\n', ' ')}\r\nx: y` }),
  headers: (name, value) => ({
    stays: 1,
    headers: new Headers([[name, value.replace('\n', ' ')]]),
  }),
};
const secrets = [
  'purchase_code',
  'X-Purchase-Code',
  'api_key',
  'Cookie',
  'set-cookie',
  'access_token',
];
const values = [
  ...[SECRET, ` ${SECRET}`, `a="${SECRET}"; b=${SECRET}`, `it's ${SECRET}`, `${SECRET}"x${SECRET}`],
  ...[
    `\\${SECRET}`,
    `x\n${SECRET}`,
    `${SECRET}\t`,
    `a&b=${SECRET}`,
    `{"${SECRET}`,
    `${SECRET}]`,
    `\`${SECRET}`,
  ],
];
for (const name of secrets) {
  for (const value of values) {
    for (const [shape, make] of Object.entries(shapes)) {
      for (const [writer, write] of Object.entries(writers)) {
        const written = write(make(name, value));
        const cleaned = redact(written);
        const seen = typeof cleaned === 'string' ? cleaned : inspect(cleaned, { depth: 9 });
        const where = `${writer}, ${shape}: ${inspect(written)}\n  became ${seen}`;
        assert.ok(!seen.includes(SECRET), where);
        // A map and headers in JSON are {}.
        if (inspect(written).includes(SECRET)) assert.match(seen, /stays/, where);
      }
    }
  }
}

// Visitors choose such texts: with a pattern that is not linear, these would take minutes.
for (const part of [
  'purchase_code',
  'purchase_code[]',
  'purchase_code\r\nx\r\n',
  '\\',
  '\\"',
  "'",
  '[',
  '%25',
  "' +\n '",
]) {
  for (const start of [
    'purchase_code=',
    'purchase_code\\":',
    'purchase_code="',
    'purchase_code=[',
    'cookie: ',
    '',
  ]) {
    redact(start + part.repeat(2 ** 18 / part.length));
  }
}
