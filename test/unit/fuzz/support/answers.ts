import fc from 'fast-check';
import { repetitionsOf } from '../../../support/secrets/support/secret-forms.js';
import type { WireAnswer } from '../../../support/service-in-memory.js';
import { SECRET } from './checks.js';

/** What programs choke on, as JSON text or as what should be such. */
const JUNK = [
  ...String.raw`null true [] {} "" 0 -1 1.5 1e400 9007199254740993 "1042" "12.50" "NaN" "a,b" {"0":"a"} [null,[]]
    "error" "success" "başarılı" "2030-01-01" "31.12.2030" "4f0c****" "\u0000" "\ud800" "\u202e\u200b" "<script>"
    {"__proto__":{"polluted":true}} {"constructor":{"prototype":{"polluted":true}}} {"then":true}
    {"length":4294967295} NaN {"a":1,} "unended "\x" "__proto__" "status" "msg" "data" "items"`.split(
    /\s+/,
  ),
  ...['" "', '"0000-00-00 00:00:00"', '"Invalid request"', '"Bad Request, invalid app_id"'],
  `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
];
/** What a service could repeat of what it was sent, in the ways that programs write such things. */
const ECHOES = Object.values(SECRET).flatMap(repetitionsOf);
const junk = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...JUNK) },
  fc.constantFrom(...ECHOES).map((echo) => JSON.stringify(echo)),
  fc.json({ maxDepth: 2 }),
);

/** A name with its colon, or a value that is neither a list nor an object. */
const TOKEN = /"(?:[^"\\]|\\.)*"(?:\s*:)?|true|false|null|-?\d[\d.]*/g;

/** The text of a real body in which some values have become junk, or names others. */
const mutated = (bodies: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...bodies), fc.array(fc.tuple(fc.nat(200), junk), { maxLength: 4 }))
    .map(([text, mutations]) =>
      mutations.reduce((before, [where, junk]) => {
        const count = before.match(TOKEN)?.length || 1;
        let n = 0;
        return before.replace(TOKEN, (token) => {
          if (n++ !== where % count) return token;
          return token.endsWith(':') ? `${token}${junk},"was":` : junk;
        });
      }, text),
    );

/** What happens to the text of a body on its way: most often nothing. */
const damage = fc.oneof(
  { weight: 6, arbitrary: fc.constant((body: string): string | Uint8Array => body) },
  fc
    .constantFrom('\uFEFF', '\r\n\t ', '[]', '<b>Warning</b>: x\n', '<!doctype html>')
    .map((ahead) => (body: string) => ahead + body),
  fc.nat(400).map((n) => (body: string) => Buffer.from(body).subarray(0, n)),
  fc.uint8Array().map((other) => () => other),
);

const headers: fc.Arbitrary<WireAnswer['headers']> = fc.record(
  {
    'retry-after': fc.oneof(
      fc.constantFrom('0', '120', '99999999999999999999', '-1', '1e3', 'soon', 'NaN', 'Infinity'),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    ),
    'content-type': fc.constantFrom('application/json', 'text/html; charset=x', ''),
    'content-length': fc.constantFrom('0', '-5', 'x', '99999999999'),
    location: fc.constantFrom('https://elsewhere.example/', '//elsewhere.example', '\\', ''),
  },
  { requiredKeys: [] },
);

/** An answer that is one of these bodies, more or less, with any status and odd headers. */
export const answerLike = (bodies: readonly string[]): fc.Arbitrary<WireAnswer> =>
  fc
    .record({
      status: fc.constantFrom(200, 200, 404, 400, 401, 403, 204, 302, 408, 422, 429, 500, 503, 999),
      headers: fc.oneof(fc.constant({}), fc.constant({}), headers),
      body: mutated(bodies),
      damage,
    })
    .map(({ body, damage, ...head }) => ({ ...head, bytes: Buffer.from(damage(body) as string) }));
