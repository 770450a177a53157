import assert from 'node:assert/strict';

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
    ],
    list: [{ access_token: 'k1' }, null, undefined, 7, new Date(0)],
    headersOfAResponse: Object.assign(Object.create(null), { 'Set-Cookie': ['k1'] }),
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
    ],
    list: [{ access_token: '[redacted]' }, null, undefined, 7, new Date(0)],
    headersOfAResponse: { 'Set-Cookie': '[redacted]' },
  },
);
// Visitors choose such texts: with a pattern that is not linear, these would take minutes.
for (const part of [
  'purchase_code',
  'purchase_code[]',
  'purchase_code\r\nx\r\n',
  'purchase_code"\r\n',
  '\\',
  '\\"',
]) {
  for (const start of ['purchase_code=', 'purchase_code\\":', ''])
    redact(start + part.repeat(2 ** 20 / part.length));
}
