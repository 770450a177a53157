import type { Palette } from './palettes.js';
import { between, type Random, short } from './random.js';

/** Draws a motif on a field 1200 wide and 600 high; thumbnails show its middle 600. */
export type Motif = (random: Random, colours: Palette) => string;

function ridge(random: Random, base: number, height: number, fill: string): string {
  const [a, b] = [between(random, 0, 6), between(random, 0, 6)];
  const points: string[] = [];
  for (let x = 0; x <= 1200; x += 40) {
    const wave = Math.sin(x / 210 + a) * 0.6 + Math.sin(x / 83 + b) * 0.3 + random() * 0.12;
    points.push(`${x} ${short(base - wave * height)}`);
  }
  return `<path fill="${fill}" d="M0 600L${points.join('L')}L1200 600z"/>`;
}

/** Layered hills under a low sun: photographs. */
export const hills: Motif = (random, [sky, far, middle, near, light]) => {
  const x = short(between(random, 420, 780));
  const y = short(between(random, 170, 250));
  return [
    `<rect width="1200" height="600" fill="${sky}"/>`,
    `<circle cx="${x}" cy="${y}" r="150" fill="${light}" opacity=".35"/>`,
    `<circle cx="${x}" cy="${y}" r="74" fill="${light}"/>`,
    ridge(random, 330, 70, far),
    ridge(random, 420, 60, middle),
    ridge(random, 510, 50, near),
  ].join('');
};

/** Light on moving water between rows of perforations: footage. */
export const film: Motif = (random, [dark, deep, mid, pale, light]) => {
  const x = between(random, 480, 720);
  const glints = Array.from({ length: 11 }, (_, row) => {
    const width = between(random, 60, 120) + row * 14;
    const y = 326 + row * 20;
    const drift = `<animate attributeName="x" dur="${short(between(random, 3, 6))}s" repeatCount="indefinite" values="${short(x - width / 2)};${short(x - width / 2 + 26)};${short(x - width / 2)}"/>`;
    return `<rect x="${short(x - width / 2)}" y="${y}" width="${short(width)}" height="7" rx="3.500" fill="${light}" opacity="${short(0.9 - row * 0.06)}">${drift}</rect>`;
  });
  const holes = Array.from({ length: 20 }, (_, index) =>
    [16, 556].map(
      (y) =>
        `<rect x="${index * 60 + 16}" y="${y}" width="28" height="28" rx="7" fill="${pale}" opacity=".5"/>`,
    ),
  ).flat();
  return [
    `<rect width="1200" height="600" fill="${deep}"/>`,
    `<rect y="60" width="1200" height="250" fill="${mid}"/>`,
    `<circle cx="${short(x)}" cy="250" r="84" fill="${light}"/>`,
    `<rect y="310" width="1200" height="230" fill="${deep}"/>`,
    ...glints,
    `<path fill="${dark}" d="M0 0h1200v60H0zM0 540h1200v60H0z"/>`,
    ...holes,
  ].join('');
};

/** Wandering parallel lines, like a close look at a surface: textures. */
export const contours: Motif = (random, [ground, light, mid, dark, accent]) => {
  const [a, b, c] = [between(random, 0, 6), between(random, 0, 6), between(random, 40, 75)];
  const lines = Array.from({ length: 27 }, (_, row) => {
    const points: string[] = [];
    for (let x = -20; x <= 1220; x += 40) {
      const y =
        row * 26 -
        40 +
        Math.sin(x / 170 + a + row / 7) * c * 0.6 +
        Math.cos(x / 91 + b - row / 5) * c * 0.35;
      points.push(`${x} ${short(y)}`);
    }
    const stroke = row % 9 === 4 ? accent : row % 3 === 0 ? dark : mid;
    return `<path d="M${points.join('L')}" fill="none" stroke="${stroke}" stroke-width="${row % 3 === 0 ? 5 : 2.5}" stroke-linejoin="round"/>`;
  });
  return `<rect width="1200" height="600" fill="${ground}"/><rect width="1200" height="600" fill="${light}" opacity=".35"/>${lines.join('')}`;
};
