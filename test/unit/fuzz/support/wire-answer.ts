import fc from 'fast-check';
import type { WireAnswer } from '../../../support/service-in-memory.js';

const PREFIXES = [
  ...['\uFEFF', ' ', '\r\n\t ', '\uFEFF\n', '\uFEFF\uFEFF', 'x', '[]', 'null', '\0', ")]}',\n"],
  ...['<br />\n<b>Warning</b>: x in <b>/srv/a.php</b>\n', '<!doctype html><html><body>'],
];
const SUFFIXES = [' ', '\n', '\uFEFF', 'x', '{}', '<!-- 3 ms -->', '\0'];

/** What happens to the bytes of a body on its way. */
const way = <T>(weight: number, of: fc.Arbitrary<T>, damage: (bytes: Buffer, by: T) => Buffer) => ({
  weight,
  arbitrary: of.map((by) => (bytes: Buffer) => damage(bytes, by)),
});

/** Most often nothing. */
const damage = fc.oneof(
  way(30, fc.constant(''), (bytes) => bytes),
  way(5, fc.constantFrom(...PREFIXES), (bytes, ahead) => Buffer.from(`${ahead}${bytes}`)),
  way(2, fc.constantFrom(...SUFFIXES), (bytes, behind) => Buffer.from(`${bytes}${behind}`)),
  way(3, fc.nat(4000), (bytes, n) => bytes.subarray(0, n % (bytes.length + 1))),
  way(2, fc.tuple(fc.nat(4000), fc.nat(255)), (bytes, [n, value]) => {
    const copy = Buffer.from(bytes);
    if (copy.length > 0) copy[n % copy.length] = value;
    return copy;
  }),
  way(2, fc.uint8Array({ maxLength: 40 }), (_bytes, other) => Buffer.from(other)),
);

const ODD_STATUSES = [201, 204, 206, 301, 302, 304, 307, 405, 408, 409, 410, 422, 425, 429];
const status = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(200, 200, 404, 400, 401, 403) },
  { weight: 5, arbitrary: fc.constantFrom(...ODD_STATUSES) },
  { weight: 3, arbitrary: fc.constantFrom(429, 500, 502, 503, 504, 521, 599) },
  { weight: 1, arbitrary: fc.integer({ min: 200, max: 999 }) },
);

const RETRY_AFTER = fc.oneof(
  fc.constantFrom('0', '1', '5', '120', '3600', '86400', '999999999999', '99999999999999999999'),
  fc.constantFrom('-1', '1.5', '1e3', ' 7 ', '+3', '0x10', 'soon', '', ' ', 'NaN', 'Infinity', '٣'),
  fc
    .date({ noInvalidDate: true, min: new Date(0), max: new Date(8e12) })
    .map((date) => date.toUTCString()),
  fc.string({ maxLength: 12 }),
);

const CONTENT_TYPES = ['application/json', 'text/html', 'text/html; charset=x', '', '\t'];
const ENCODINGS = ['identity', ' Identity ', '', 'gzip', 'br', 'x', 'gzip, br'];
const headers: fc.Arbitrary<WireAnswer['headers']> = fc.record(
  {
    'retry-after': fc.oneof(RETRY_AFTER, fc.tuple(RETRY_AFTER, RETRY_AFTER)),
    'content-type': fc.constantFrom(...CONTENT_TYPES),
    'content-length': fc.constantFrom('0', '12', '-5', 'x', '', '99999999999', '1e12', 'Infinity'),
    'content-encoding': fc.constantFrom(...ENCODINGS),
    location: fc.constantFrom('https://elsewhere.example/', '//elsewhere.example', '\\', ''),
    'set-cookie': fc.array(fc.string({ maxLength: 8 }), { maxLength: 2 }),
  },
  { requiredKeys: [] },
);

/** The same, such that a report of what broke shows the body as text. */
function legible(answer: WireAnswer): WireAnswer {
  const { bytes, ...head } = answer;
  const shown = () => `${JSON.stringify(head)} ${JSON.stringify(bytes.toString())}`;
  return Object.defineProperty(answer, fc.toStringMethod, { value: shown });
}

/** An answer with this body, damaged now and then, with any status and odd headers. */
export function wireAnswer(body: fc.Arbitrary<string>): fc.Arbitrary<WireAnswer> {
  return fc
    .record({
      status,
      headers: fc.oneof(
        { weight: 3, arbitrary: fc.constant({}) },
        { weight: 1, arbitrary: headers },
      ),
      body,
      damage,
      cuts: fc.array(fc.nat(3000), { maxLength: 3 }),
    })
    .map(({ status, headers, body, damage, cuts }) =>
      legible({ status, headers, bytes: damage(Buffer.from(body)), cuts }),
    );
}
