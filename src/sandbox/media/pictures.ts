import { html } from '../../html.js';
import type { MediaKind } from '../data/schema.js';

/** Numbers from 0 to 1 that are always the same for the same words: pictures must not change on reload. */
export type Random = () => number;

/** Makes a {@link Random} from a text (FNV-1a to seed it, mulberry32 to run it). */
export function randomOf(text: string): Random {
  let state = 2166136261;
  for (const char of text) state = Math.imul(state ^ (char.codePointAt(0) ?? 0), 16777619);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A number from `least` up to `most`, rounded. */
const between = (random: Random, least: number, most: number): number =>
  Math.round(least + random() * (most - least));

/** Shades of one hue from back to front, by lightness. */
type Shades = (lightness: number) => string;

/** Draws on a field 1200 wide and 600 high; thumbnails show its middle 600. */
type Motif = (random: Random, shade: Shades, accent: string) => string;

/** Layered hills under a low sun. */
const hills: Motif = (random, shade, accent) => {
  const layers = [330, 420, 510].map((base, layer) => {
    const [phase, height] = [random() * 6, 70 - layer * 10];
    const points = Array.from({ length: 31 }, (_, i) => {
      const wave = Math.sin(i / 5 + phase) * 0.6 + Math.sin(i / 2 + phase * 2) * 0.3;
      return `${i * 40} ${Math.round(base - wave * height)}`;
    });
    return `<path fill="${shade(60 - layer * 18)}" d="M0 600L${points.join('L')}L1200 600z"/>`;
  });
  const sun = `cx="${between(random, 420, 780)}" cy="${between(random, 170, 250)}"`;
  return `<circle ${sun} r="150" fill="${accent}" opacity=".35"/><circle ${sun} r="74" fill="${accent}"/>${layers.join('')}`;
};

/** Arcs that turn around one centre. */
const orbits: Motif = (random, shade, accent) => {
  const arcs = Array.from({ length: 7 }, (_, i) => {
    const radius = 70 + i * 36;
    const shown = between(random, 1.5 * radius, 4.5 * radius);
    const from = between(random, 0, 360);
    const to = from + (i % 2 ? -360 : 360);
    return `<circle cx="600" cy="300" r="${radius}" fill="none" stroke="${shade(25 + i * 7)}" stroke-width="17" stroke-linecap="round" stroke-dasharray="${shown} 3000"><animateTransform attributeName="transform" type="rotate" dur="${9 + i * 3}s" repeatCount="indefinite" values="${from} 600 300;${to} 600 300"/></circle>`;
  });
  return `${arcs.join('')}<circle cx="600" cy="300" r="34" fill="${accent}"/>`;
};

/** The bars of a waveform before a disc. */
const bars: Motif = (random, shade, accent) => {
  const phase = random() * 6;
  const columns = Array.from({ length: 40 }, (_, i) => {
    const height = between(random, 40, 330) * (0.35 + 0.65 * Math.abs(Math.sin(i / 5.5 + phase)));
    const fill = i % 7 === 3 ? accent : shade(i % 2 ? 30 : 45);
    return `<rect x="${15 + i * 30}" y="${Math.round(300 - height / 2)}" width="16" height="${Math.round(height)}" rx="8" fill="${fill}"/>`;
  });
  return `<circle cx="600" cy="300" r="250" fill="${shade(75)}"/>${columns.join('')}`;
};

const MOTIFS: Readonly<Record<MediaKind, Motif>> = { image: hills, video: orbits, audio: bars };

/** The picture of an item, always the same for the same words: a motif of its kind, in colours by chance. */
function drawing(kind: MediaKind, words: string): string {
  const random = randomOf(words);
  const hue = between(random, 0, 359);
  const shade: Shades = (lightness) => `hsl(${hue} 38% ${lightness}%)`;
  const accent = `hsl(${(hue + 150) % 360} 85% 70%)`;
  return `<rect width="1200" height="600" fill="${shade(86)}"/>${MOTIFS[kind](random, shade, accent)}`;
}

const svg = (width: number, height: number, viewBox: string, content: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${viewBox}">${content}</svg>`;

interface Pictured {
  readonly id: number;
  readonly name: string;
  readonly kind: MediaKind;
}

/** The square picture of an item. */
export const thumbnail = ({ id, name, kind }: Pictured): string =>
  svg(480, 480, '300 0 600 600', drawing(kind, `${id} ${name}`));

/** The wide picture of an item. */
export const previewImage = ({ id, name, kind }: Pictured): string =>
  svg(1200, 600, '0 0 1200 600', drawing(kind, `${id} ${name}`));

/** A screenshot of an item: a variation of its picture, in a window. */
export const screenshot = ({ id, name, kind }: Pictured, number: number): string =>
  svg(
    1200,
    750,
    '0 0 1200 750',
    `<rect width="1200" height="750" fill="#fbfcf9"/><g fill="#c9cdc5"><circle cx="38" cy="33" r="10"/><circle cx="70" cy="33" r="10"/><circle cx="102" cy="33" r="10"/><rect x="150" y="20" width="420" height="26" rx="13" opacity=".6"/></g><svg y="66" width="1200" height="684" viewBox="0 0 1200 600" preserveAspectRatio="xMidYMid slice">${drawing(kind, `${id} ${name} ${number}`)}</svg>`,
  );

/** A wide banner of hills, for users and accounts. */
export const cover = (name: string): string =>
  svg(1200, 300, '0 200 1200 300', drawing('image', `cover ${name}`));

/** A square with the first letter of a name: users, accounts, apps. */
export function initial(name: string): string {
  const hue = between(randomOf(name), 0, 359);
  const letter = ([...name][0] ?? '?').toUpperCase();
  const text = html`<text x="60" y="82" font-family="system-ui, sans-serif" font-size="64" font-weight="700" text-anchor="middle" fill="#fff">${letter}</text>`;
  const ground = `<rect width="120" height="120" fill="hsl(${hue} 45% 36%)"/><path d="M0 120L120 0v120z" fill="#fff" opacity=".1"/>`;
  return svg(240, 240, '0 0 120 120', `${ground}${text}`);
}
