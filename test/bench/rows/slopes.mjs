import { measureServer } from '../harness/measure-server.mjs';
import { measureWork } from '../harness/measure-work.mjs';
import { median } from '../harness/numbers.mjs';
import { startProcess } from '../harness/process.mjs';
import { CODES } from '../subjects/guard-server.mjs';
import { openGuards } from './guards.mjs';

const count = (number) => number.toLocaleString('en');

/** Variants of one kind, named by how many there are; the limit is one of them. */
const grow = (kind, sizes, options, nameOf) =>
  sizes.map((size) => [nameOf(count(size)), { kind, size, ...options }]);

const codesOf = (size) => `${size} codes`;
const hitsOf = (size) => `hits, ${size} at a time`;
const coldOf = (size) => `cold calls, ${size} at a time`;
const peerOf = (size) => `undici Pool.request, ${size} at a time`;
const listOf = (size) => `list of ${size}`;
const parsedOf = (size) => `JSON.parse, list of ${size}`;

const WIDTHS = [1, 10, 1000];
const LISTS = [10, 100, 1000, 10_000, 100_000];

const KINDS = {
  async codes({ size }, { service }) {
    const child = await startProcess('subjects/many-codes.mjs', { service, codes: size });
    try {
      const bytes = await child.ask('bytes');
      await child.ask('work', 300_000);
      const begun = await child.ask('cpu');
      await child.ask('work', 600_000);
      return { hit: ((await child.ask('cpu')) - begun) / 600_000, bytes, answer: true };
    } finally {
      await child.stop();
    }
  },
  async hits({ size }, { service, load }) {
    const headers = CODES.map((code) => ({ 'x-purchase-code': code }));
    const options = { express: 'express', guard: 'marketgate', service };
    // Connecting is no part of a hit.
    const sending = { load, headers, connections: size, amount: Math.max(6000, 30 * size) };
    const { cpu } = await measureServer('subjects/guard-server.mjs', options, sending);
    return { wide: cpu, answer: true };
  },
  async cold({ size, caller }, { service }) {
    const options = { service, caller, width: size };
    const amounts = { warmUp: 6000, calls: 12_000 };
    const { cpu } = await measureWork('subjects/cold-call.mjs', options, amounts);
    return { wide: cpu, answer: true };
  },
  async list({ size, reader }, { service }) {
    const child = await startProcess('subjects/item-list.mjs', { service, size, reader });
    try {
      const answer = (await child.ask('answer'))[0] === size;
      const times = Math.max(3, 30_000 / size);
      await child.ask('work', times);
      const begun = await child.ask('cpu');
      await child.ask('work', times);
      const item = ((await child.ask('cpu')) - begun) / times / size;
      const holds = [];
      for (let i = 0; i < 3; i++) holds.push(await child.ask('hold'));
      return { item, hold: (1000 * median(holds)) / size, answer };
    } finally {
      await child.stop();
    }
  },
};

/** Each to the variant of its kind that has the given size. */
const limitsOf = (names, limit) => Object.fromEntries(names.map((name) => [name, limit]));
const HIT = { name: 'hit', title: 'CPU of a hit, µs', limit: codesOf('10,000') };
const BYTES = { name: 'bytes', title: 'bytes per code', limit: codesOf('10,000') };
const WIDE = {
  name: 'wide',
  title: 'CPU per request or call, µs',
  limits: Object.fromEntries(
    [hitsOf, coldOf, peerOf].flatMap((nameOf) =>
      WIDTHS.map((w) => [nameOf(count(w)), nameOf('10')]),
    ),
  ),
};
const listLimits = {
  ...limitsOf(
    LISTS.map((size) => listOf(count(size))),
    listOf('1,000'),
  ),
  ...limitsOf(
    LISTS.map((size) => parsedOf(count(size))),
    parsedOf('1,000'),
  ),
};
const ITEM = { name: 'item', title: 'CPU per item, µs', limits: listLimits };
const HOLD = {
  name: 'hold',
  title: 'longest hold of the event loop, µs per item',
  limits: listLimits,
};

export default {
  name: 'slopes',
  title: 'How cost grows',
  about: `With the codes in the cache: the guard alone, without Express, for codes at random from all. With what
goes on at the same time: guarded hits over as many connections, on Express 5, and calls of a client without a cache, as
in "One call to the service". With the list: read by a client without a cache, as in "A list of 10,000 items", to what
undici and \`JSON.parse\` need for it. Each kind's limit is itself, in the middle: 1.00 is a straight line. Three rounds.`,
  rounds: 3,
  variants: Object.fromEntries([
    ...grow('codes', [100, 10_000, 1_000_000], {}, codesOf),
    ...grow('hits', WIDTHS, {}, hitsOf),
    ...grow('cold', WIDTHS, { caller: 'marketgate' }, coldOf),
    ...grow('cold', WIDTHS, { caller: 'undici' }, peerOf),
    ...grow('list', LISTS, { reader: 'marketgate' }, listOf),
    ...grow('list', LISTS, { reader: 'parse' }, parsedOf),
  ]),
  open: openGuards,
  measure: ({ kind, ...options }, context) => KINDS[kind](options, context),
  metrics: [HIT, BYTES, WIDE, ITEM, HOLD],
  notes: `A hit among 1,000,000 codes: a bare \`get\` of lru-cache, in a loop of its own, goes from 0.06 µs for one of 10,000 random
codes to 0.96 for one of 1,000,000, whose entries do not fit into the processor's caches.
Cold calls: what 1,000 at a time cost more than 10 is undici's own, whose 128 connections are then all in use,
and whose queue is long: see the same rows for undici alone. Lists: a list of 1,000 costs less than before, and is what
the others are compared with. Of one of 100,000, the longest hold is \`JSON.parse\`, which cannot be divided (see its own
row), and of one of 1,000 it is half of that, because decoding, parsing and checking are turns of their own. The CPU of
an item grows as that of \`JSON.parse\` does (1.47), and by what the collector does with lists that outlive a scavenge.`,
  goals: [
    [HIT, codesOf('1,000,000'), 3, 'a hit of 1,000,000 codes, to one of 10,000'],
    [BYTES, codesOf('1,000,000'), 1.1, 'memory of a code of 1,000,000, to one of 10,000'],
    [WIDE, hitsOf('1,000'), 1.5, 'a hit, 1,000 at a time, to 10 at a time'],
    [WIDE, coldOf('1,000'), 1.5, 'a cold call, 1,000 at a time, to 10 at a time'],
    [ITEM, listOf('100,000'), 1.5, 'CPU of an item in a list of 100,000, to one of 1,000'],
    [HOLD, listOf('100,000'), 1, 'longest hold for a list of 100,000, per item, to one of 1,000'],
  ].map(([metric, variant, most, what]) => ({
    metric,
    variant,
    limit: metric.limit ?? metric.limits[variant],
    most,
    what,
  })),
};
