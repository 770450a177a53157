import { html } from '../../html.js';
import type { MediaKind, SeedItem } from '../data/schema.js';

/** Numbers from 0 to 1 that are always the same for the same words (FNV-1a to seed, mulberry32 to run). */
export function randomOf(words: string): () => number {
  let state = 2166136261;
  for (const char of words) state = Math.imul(state ^ (char.codePointAt(0) ?? 0), 16777619);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * The picture of an item, 1200 by 600, with its motif in the middle 600: hills under a low sun for images,
 * turning arcs for videos, a waveform for audio. The colours come from the words, so that they stay the same.
 */
function drawing(kind: MediaKind, words: string): string {
  const random = randomOf(words);
  const between = (least: number, most: number) => Math.round(least + random() * (most - least));
  const hue = between(0, 359);
  const shade = (lightness: number) => `hsl(${hue} 38% ${lightness}%)`;
  const accent = `hsl(${(hue + 150) % 360} 85% 70%)`;

  const hill = (_: unknown, layer: number) => {
    const phase = between(0, 600) / 100;
    const height = (i: number) => Math.sin(i / 5 + phase) * 40 + Math.sin(i / 2 + phase * 2) * 18;
    const points = Array.from({ length: 31 }, (_x, i) => {
      return `${i * 40} ${Math.round(330 + layer * 90 - height(i))}`;
    });
    return `<path fill="${shade(60 - layer * 18)}" d="M0 600L${points.join('L')}L1200 600z"/>`;
  };
  const arc = (_: unknown, i: number) => {
    const [radius, from] = [70 + i * 36, between(0, 360)];
    const to = from + (i % 2 ? -360 : 360);
    return `<circle cx="600" cy="300" r="${radius}" fill="none" stroke="${shade(25 + i * 7)}" stroke-width="17" stroke-linecap="round" stroke-dasharray="${between(1.5 * radius, 4.5 * radius)} 3000"><animateTransform attributeName="transform" type="rotate" dur="${9 + i * 3}s" repeatCount="indefinite" values="${from} 600 300;${to} 600 300"/></circle>`;
  };
  const bar = (_: unknown, i: number) => {
    const height = between(20, 330);
    return `<rect x="${15 + i * 30}" y="${300 - height / 2}" width="16" height="${height}" rx="8" fill="${i % 7 === 3 ? accent : shade(i % 2 ? 30 : 45)}"/>`;
  };
  const center = kind === 'image' ? `cx="${between(500, 700)}" cy="200"` : 'cx="600" cy="300"';
  const disc = `<circle ${center} r="74" fill="${accent}"/>`;
  const shapes =
    kind === 'image'
      ? Array.from({ length: 3 }, hill)
      : Array.from({ length: kind === 'video' ? 7 : 40 }, kind === 'video' ? arc : bar);
  return `<rect width="1200" height="600" fill="${shade(86)}"/>${disc}${shapes.join('')}`;
}

const svg = (width: number, height: number, viewBox: string, content: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${viewBox}">${content}</svg>`;

export const thumbnail = ({ id, name, kind }: Readonly<SeedItem>): string =>
  svg(480, 480, '300 0 600 600', drawing(kind, `${id} ${name}`));

export const previewImage = ({ id, name, kind }: Readonly<SeedItem>): string =>
  svg(1200, 600, '0 0 1200 600', drawing(kind, `${id} ${name}`));

/** A screenshot of an item: a variation of its picture. */
export const screenshot = ({ id, name, kind }: Readonly<SeedItem>, number: number): string =>
  svg(1200, 750, '120 0 960 600', drawing(kind, `${id} ${name} ${number}`));

export const cover = (name: string): string =>
  svg(1200, 300, '0 200 1200 300', drawing('image', `cover ${name}`));

/** A square with the first letter of a name: users, accounts, apps. */
export function initial(name: string): string {
  const hue = Math.round(randomOf(name)() * 359);
  const letter = ([...name][0] ?? '?').toUpperCase();
  const text = html`<text x="60" y="82" font-family="system-ui, sans-serif" font-size="64" font-weight="700" text-anchor="middle" fill="#fff">${letter}</text>`;
  const ground = `<rect width="120" height="120" fill="hsl(${hue} 45% 36%)"/><path d="M0 120L120 0v120z" fill="#fff" opacity=".1"/>`;
  return svg(240, 240, '0 0 120 120', `${ground}${text}`);
}
