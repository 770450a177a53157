import type { Motif } from './landscapes.js';
import { between, pick, short } from './random.js';

const TILE = 150;

/** Quarter circles, discs and squares on a grid: illustrations. */
export const tiles: Motif = (random, [ground, ...inks]) => {
  const cells: string[] = [];
  for (let x = 0; x < 1200; x += TILE) {
    for (let y = 0; y < 600; y += TILE) {
      const [back, front] = [pick(random, [ground, ...inks]), pick(random, inks)];
      const quarter = `<path d="M0 0h${TILE}a${TILE} ${TILE} 0 0 1-${TILE} ${TILE}z" fill="${front}"/>`;
      const disc = `<circle cx="75" cy="75" r="${pick(random, [34, 52, 75])}" fill="${front}"/>`;
      const half = `<path d="M0 75a75 75 0 0 1 150 0z" fill="${front}"/>`;
      const shape = pick(random, [quarter, quarter, disc, half]);
      const turn = pick(random, [0, 90, 180, 270]);
      cells.push(
        `<g transform="translate(${x} ${y})"><rect width="${TILE}" height="${TILE}" fill="${back}"/><g transform="rotate(${turn} 75 75)">${shape}</g></g>`,
      );
    }
  }
  return cells.join('');
};

/** A page laid out in a window: templates. */
export const pageDesign: Motif = (random, [ground, card, soft, strong, accent]) => {
  const bars = Array.from({ length: 9 }, (_, index) => {
    const height = between(random, 30, 130);
    return `<rect x="${482 + index * 34}" y="${short(360 - height)}" width="20" height="${short(height)}" rx="5" fill="${index === 6 ? accent : strong}"/>`;
  });
  const lines = Array.from(
    { length: 6 },
    (_, row) =>
      `<rect x="340" y="${196 + row * 34}" width="${short(between(random, 50, 92))}" height="12" rx="6" fill="${row === 1 ? strong : soft}"/>`,
  );
  const tiles = [0, 1, 2].map(
    (index) =>
      `<rect x="${462 + index * 142}" y="400" width="126" height="76" rx="12" fill="${soft}" opacity=".6"/><rect x="${478 + index * 142}" y="416" width="${short(between(random, 40, 80))}" height="12" rx="6" fill="${index === 1 ? accent : strong}"/>`,
  );
  return [
    `<rect width="1200" height="600" fill="${ground}"/>`,
    `<circle cx="${short(between(random, 120, 260))}" cy="520" r="190" fill="${soft}"/>`,
    `<circle cx="${short(between(random, 960, 1100))}" cy="70" r="150" fill="${accent}" opacity=".85"/>`,
    `<rect x="310" y="92" width="580" height="416" rx="22" fill="${card}"/>`,
    `<path d="M310 160h580" stroke="${soft}" stroke-width="3"/>`,
    `<circle cx="346" cy="126" r="9" fill="${accent}"/><circle cx="374" cy="126" r="9" fill="${soft}"/><circle cx="402" cy="126" r="9" fill="${soft}"/>`,
    ...lines,
    `<rect x="462" y="196" width="400" height="180" rx="14" fill="${soft}" opacity=".45"/>`,
    ...bars,
    ...tiles,
  ].join('');
};

/** Arcs that turn around one centre: motion graphics. */
export const orbits: Motif = (random, [dark, one, two, three, light]) => {
  const rings = Array.from({ length: 7 }, (_, index) => {
    const radius = 70 + index * 36;
    const length = 2 * Math.PI * radius;
    const shown = between(random, 0.25, 0.7) * length;
    const from = Math.round(between(random, 0, 360));
    const to = from + (index % 2 ? -360 : 360);
    return `<circle cx="600" cy="300" r="${radius}" fill="none" stroke="${pick(random, [one, two, three])}" stroke-width="17" stroke-linecap="round" stroke-dasharray="${short(shown)} ${short(length)}" transform="rotate(${from} 600 300)"><animateTransform attributeName="transform" type="rotate" dur="${9 + index * 3}s" repeatCount="indefinite" values="${from} 600 300;${to} 600 300"/></circle>`;
  });
  return `<rect width="1200" height="600" fill="${dark}"/>${rings.join('')}<circle cx="600" cy="300" r="34" fill="${light}"/>`;
};
