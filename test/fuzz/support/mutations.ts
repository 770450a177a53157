import fc from 'fast-check';
import { type JsonTree, type Place, placesOf, raw, textOf, treeOf } from './json-tree.js';

/** One change of a body: what is done, where (counted through all places, round and round), with what. */
interface Mutation {
  readonly what: keyof typeof CHANGES;
  readonly where: number;
  readonly junk: string;
  readonly name: string;
}

const NAMES = [
  ...'__proto__ constructor prototype toString hasOwnProperty 0 -1 length then toJSON'.split(' '),
  ...'status Status STATUS msg message error data item items purchase id name media'.split(' '),
  ...'purchase_code access_token user_info user_id'.split(' '),
  '',
];

/** Values that programs choke on, as JSON text. */
const JUNK = [
  ...String.raw`null true false [] {} "" 0 -0 1 -1 1.5 1e400 -1e400 1e-400 9007199254740993
    123456789012345678901234567890 1e21 "0" "1" "-5" "1042" "12.50" "1e3" "NaN" "Infinity" "true" "false" "null"
    "a,b,c" {"0":"a","1":"b"} {"1":"a","3":"b"} [null] [[]] [1,2] ["a",null,3] "error" "Error" "ERROR" "success"
    "erfolgreich" "başarılı" "2030-01-01T00:00:00Z" "2020-02-18T07:42:08.000000Z" "31.12.2030"
    "2027-02-29T00:00:00Z" 1893456000 "19,00" 9007199254740992 "9007199254740993" "1042.0" "4f0c****"
    "\u0000" "\ud800" "\udfff\ud800" "\u202e\u200b" "\u001b[2J" "<script>" {"__proto__":{"polluted":true}}
    {"constructor":{"prototype":{"polluted":true}}} {"then":true} {"toString":null,"valueOf":null}
    {"length":4294967295} NaN undefined 01 'x' /*x*/1 {"a":1,} [1,] "unended "\x"`.split(/\s+/),
  ...['" "', '" 1042 "', '"\t"', '"0000-00-00 00:00:00"', '"2030-01-01 10:00:00+02:00"'],
  ...['"Invalid request"', '"No items found"', '"Item Not Found"', '"Invalid purchase code"'],
  ...['"invalid PURCHASE code"', '"Bad Request, invalid app_id"', '"invalid app_secret"'],
  ...['"expired access_token"', '"Support until 2030"'],
];

const deep = fc.constantFrom('[', '{"a":').chain((open) =>
  fc.constantFrom(10, 200, 3000, 20_000).map((depth) => {
    const close = open === '[' ? ']' : '}';
    return `${open.repeat(depth)}${open === '[' ? '' : '1'}${close.repeat(depth)}`;
  }),
);

/** @param words - what this service could repeat: the secrets that it was sent, in some form. */
const junkOf = (words: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...JUNK) },
    { weight: 3, arbitrary: fc.constantFrom(...words).map((word) => JSON.stringify(word)) },
    { weight: 2, arbitrary: fc.string({ maxLength: 12 }).map((text) => JSON.stringify(text)) },
    { weight: 2, arbitrary: fc.double().map((number) => JSON.stringify(number)) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.nat(6000).map((length) => JSON.stringify('a1 '.repeat(length))) },
    { weight: 1, arbitrary: deep },
  );

type Change = (place: Place, mutation: Mutation, all: readonly Place[]) => void;

const CHANGES = {
  replace: (place, { junk }) => place.set(raw(junk)),
  remove: ({ within }) => {
    if (within?.parent.kind === 'list') within.parent.items.splice(within.index, 1);
    if (within?.parent.kind === 'object') within.parent.entries.splice(within.index, 1);
  },
  repeat: ({ within, get }, { junk }) => {
    if (within?.parent.kind === 'list') within.parent.items.push(get());
    if (within?.parent.kind !== 'object') return;
    const [name = ''] = within.parent.entries[within.index] ?? [];
    within.parent.entries.push([name, raw(junk)]);
  },
  precede: ({ within }, { junk }) => {
    if (within?.parent.kind !== 'object') return;
    const [name = ''] = within.parent.entries[within.index] ?? [];
    within.parent.entries.unshift([name, raw(junk)]);
  },
  rename: ({ within }, { name }) => {
    const entry = within?.parent.kind === 'object' && within.parent.entries[within.index];
    if (entry) entry[0] = name;
  },
  add: ({ get }, { name, junk }) => {
    const tree = get();
    if (tree.kind === 'object') tree.entries.push([name, raw(junk)]);
    if (tree.kind === 'list') tree.items.push(raw(junk));
  },
  inList: (place) => place.set({ kind: 'list', items: [place.get()] }),
  inObject: (place, { name }) => place.set({ kind: 'object', entries: [[name, place.get()]] }),
  asText: (place) => {
    const tree = place.get();
    if (tree.kind !== 'raw') place.set(raw(JSON.stringify(textOf(tree))));
    else if (!tree.text.startsWith('"')) place.set(raw(`"${tree.text}"`));
  },
  asNumbered: (place) => {
    const tree = place.get();
    if (tree.kind !== 'list') return;
    place.set({ kind: 'object', entries: tree.items.map((item, i) => [String(i), item]) });
  },
  swap: (place, { junk }, all) => {
    const other = all[junk.length % all.length];
    if (other === undefined || all[0] === other || all[0] === place) return;
    const [here, there] = [copyOf(place.get()), copyOf(other.get())];
    place.set(there);
    other.set(here);
  },
} satisfies Record<string, Change>;

// A place that is put inside itself would never end.
function copyOf(tree: JsonTree): JsonTree {
  if (tree.kind === 'raw') return raw(tree.text);
  if (tree.kind === 'list') return { kind: 'list', items: tree.items.map(copyOf) };
  return { kind: 'object', entries: tree.entries.map(([name, value]) => [name, copyOf(value)]) };
}

/** The text of a real body after a few changes; shrinks towards none. */
export function mutated(
  bodies: readonly unknown[],
  words: readonly string[],
): fc.Arbitrary<string> {
  const mutation: fc.Arbitrary<Mutation> = fc.record({
    what: fc.constantFrom(...(Object.keys(CHANGES) as (keyof typeof CHANGES)[])),
    where: fc.nat(400),
    junk: junkOf(words),
    name: fc.constantFrom(...NAMES),
  });
  return fc
    .tuple(fc.constantFrom(...bodies), fc.array(mutation, { maxLength: 4 }))
    .map(([body, mutations]) => {
      const root = { tree: treeOf(body) };
      for (const each of mutations) {
        const all = placesOf(root);
        const place = all[each.where % all.length];
        if (place !== undefined) (CHANGES[each.what] as Change)(place, each, all);
      }
      return textOf(root.tree);
    });
}

export const edit = fc.record({
  ...{ at: fc.nat(600), with: fc.string({ maxLength: 3 }), cut: fc.nat(3) },
});
export const edited = (
  text: string,
  { at, with: put, cut }: typeof edit extends fc.Arbitrary<infer E> ? E : never,
) => text.slice(0, at % text.length) + put + text.slice((at % text.length) + cut);

/** The bytes that a text of base64 parts stands for: its last characters hold bits without meaning. */
export const plain = (text: string): string =>
  text
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString('latin1'))
    .join('.');
