import { measureServer } from '../harness/measure-server.mjs';
import { openGuards } from './guards.mjs';

const CPU = {
  name: 'cpu',
  title: 'CPU per request, µs',
  limits: {
    'loadItem by hand': 'loadItem by hand',
    loadItem: 'loadItem by hand',
    'loadItems by hand, 10 items': 'loadItems by hand, 10 items',
    'loadItems, 10 items': 'loadItems by hand, 10 items',
    'loadItems by hand, 10,000 items': 'loadItems by hand, 10,000 items',
    'loadItems, 10,000 items': 'loadItems by hand, 10,000 items',
  },
};

export default {
  name: 'loaders',
  title: 'Items on a cache hit, Express 5',
  about: `One item, or the first ten of a catalogue of 10 and of 10,000 that is in the cache. The limit is
a middleware that takes them out of a variable. That the last two rows cost what the two before them do
is what counts: nothing grows with the list.`,
  variants: {
    'loadItem by hand': { loads: 'item', isByHand: true },
    loadItem: { loads: 'item' },
    'loadItems by hand, 10 items': { loads: 'items', size: 10, isByHand: true },
    'loadItems, 10 items': { loads: 'items', size: 10 },
    'loadItems by hand, 10,000 items': { loads: 'items', size: 10_000, isByHand: true },
    'loadItems, 10,000 items': { loads: 'items', size: 10_000 },
  },
  groupOf: (name) => (name.startsWith('loadItems') ? 'page' : 'item'),
  open: openGuards,
  measure: (options, { load, service }) =>
    measureServer('subjects/loader-server.mjs', { service, ...options }, { load }),
  metrics: [CPU],
  goals: [
    {
      metric: CPU,
      variant: 'loadItems, 10,000 items',
      limit: 'loadItems, 10 items',
      most: 1.1,
      what: 'a page of a list of 10,000, to one of a list of 10',
    },
  ],
};
