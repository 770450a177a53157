import type { SeedItem } from '../seed/types.js';
import { orbits, pageDesign, tiles } from './designs.js';
import { contours, film, hills, type Motif } from './landscapes.js';
import { paletteOf } from './palettes.js';
import { randomOf } from './random.js';
import { bars, ripples } from './sounds.js';

const MOTIFS: Readonly<Record<string, Motif>> = {
  Photography: hills,
  Illustrations: tiles,
  Textures: contours,
  Templates: pageDesign,
  'Stock Footage': film,
  'Motion Graphics': orbits,
  Music: bars,
  'Sound Effects': ripples,
};

const BY_KIND: Readonly<Record<SeedItem['kind'], Motif>> = {
  image: tiles,
  video: orbits,
  audio: bars,
};

const NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"';

function drawing(item: Readonly<SeedItem>, variant: string): string {
  const random = randomOf(`${item.id} ${item.name} ${variant}`);
  const colours = paletteOf(item.category, item.id);
  return (MOTIFS[item.category] ?? BY_KIND[item.kind])(random, colours);
}

/** The square picture of an item. */
export const thumbnail = (item: Readonly<SeedItem>): string =>
  `<svg ${NAMESPACE} width="480" height="480" viewBox="300 0 600 600">${drawing(item, '')}</svg>`;

/** The wide picture of an item. */
export const previewImage = (item: Readonly<SeedItem>): string =>
  `<svg ${NAMESPACE} width="1200" height="600" viewBox="0 0 1200 600">${drawing(item, '')}</svg>`;

/** A screenshot of an item: a variation of its picture, in a window. */
export const screenshot = (item: Readonly<SeedItem>, number: number): string =>
  `<svg ${NAMESPACE} width="1200" height="750" viewBox="0 0 1200 750"><rect width="1200" height="750" fill="#e7e9e4"/><rect width="1200" height="66" fill="#fbfcf9"/><g fill="#c9cdc5"><circle cx="38" cy="33" r="10"/><circle cx="70" cy="33" r="10"/><circle cx="102" cy="33" r="10"/><rect x="150" y="20" width="420" height="26" rx="13" opacity=".6"/></g><svg x="0" y="66" width="1200" height="684" viewBox="0 0 1200 600" preserveAspectRatio="xMidYMid slice">${drawing(item, `screenshot ${number}`)}</svg></svg>`;
