import fc from 'fast-check';

/** Values that programs choke on, as JSON text. */
const JUNK = [
  ...String.raw`null true false [] {} "" 0 -1 1.5 1e400 9007199254740993 123456789012345678901234567890 "0" "1042"
    "12.50" "1e3" "NaN" "true" "a,b,c" {"0":"a","1":"b"} [null] [[]] ["a",null,3] "error" "ERROR" "success"
    "erfolgreich" "başarılı" "2030-01-01T00:00:00Z" "31.12.2030" "2027-02-29T00:00:00Z" "19,00" "9007199254740993"
    "4f0c****" "\u0000" "\ud800" "\u202e\u200b" "\u001b[2J" "<script>" {"__proto__":{"polluted":true}}
    {"constructor":{"prototype":{"polluted":true}}} {"then":true} {"length":4294967295} NaN undefined 01 'x' {"a":1,}
    "unended "\x" "__proto__" "constructor" "status" "msg" "message" "data" "items" "purchase_code" "user_id"`.split(
    /\s+/,
  ),
  ...['" "', '"0000-00-00 00:00:00"', '"2030-01-01 10:00:00+02:00"', '"Invalid request"'],
  ...['"invalid PURCHASE code"', '"Bad Request, invalid app_id"', '"expired access_token"'],
];

const deep = fc
  .constantFrom(10, 3000, 20_000)
  .map((depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

/** @param words - what this service could repeat: the secrets that it was sent, in some form. */
const junkOf = (words: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...JUNK) },
    { weight: 3, arbitrary: fc.constantFrom(...words).map((word) => JSON.stringify(word)) },
    { weight: 3, arbitrary: fc.json({ maxDepth: 2 }) },
    { weight: 1, arbitrary: fc.nat(6000).map((length) => JSON.stringify('a1 '.repeat(length))) },
    { weight: 1, arbitrary: deep },
  );

const TOKEN = /"(?:[^"\\]|\\.)*"|[^\s"[\]{}:,]+|[[\]{}:,]/g;
const OPENING = /^[[{]$/;
const CLOSING = /^[\]}]$/;

/** The end of the value that begins at `start`. */
function endOf(tokens: readonly string[], start: number): number {
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    if (at < start) continue;
    depth += Number(OPENING.test(token)) - Number(CLOSING.test(token));
    if (depth <= 0) return at + 1;
  }
  return tokens.length;
}

/** The text of a real body in which some names and values are replaced, removed or repeated. */
export const mutated = (
  bodies: readonly unknown[],
  words: readonly string[],
): fc.Arbitrary<string> => {
  const mutation = fc.record({
    what: fc.constantFrom('replace', 'replace', 'remove', 'repeat'),
    where: fc.nat(400),
    junk: junkOf(words),
  });
  return fc
    .tuple(fc.constantFrom(...bodies), fc.array(mutation, { maxLength: 4 }))
    .map(([body, mutations]) => {
      let tokens: string[] = JSON.stringify(body).match(TOKEN) ?? [];
      for (const { what, where, junk } of mutations) {
        const begins = [...tokens.keys()].filter((at) => !/^[\]}:,]$/.test(tokens[at] ?? ''));
        const start = begins[where % begins.length] ?? 0;
        const isName = tokens[start + 1] === ':';
        const end = endOf(tokens, what === 'replace' || !isName ? start : start + 2);
        const [before, own, after] = [
          tokens.slice(0, start),
          tokens.slice(start, end),
          tokens.slice(end),
        ];
        if (what === 'replace') tokens = [...before, junk, ...after];
        else if (what === 'repeat') tokens = [...before, ...own, ',', ...own, ...after];
        else tokens = [...before, ...(after[0] === ',' ? after.slice(1) : after)];
      }
      return tokens.join('');
    });
};
