import { createHash } from 'node:crypto';

/** Bytes that look random and are always the same for the same words. */
export const bytesOf = (words: string): Buffer => createHash('sha256').update(words).digest();

/** What a picture is drawn with: numbers and colours that are always the same for the same words. */
class Brush {
  readonly #words: string;
  #bytes: IterableIterator<number>;
  #page = 0;
  readonly hue: number;

  constructor(words: string) {
    this.#words = words;
    this.#bytes = bytesOf(words).values();
    this.hue = this.between(0, 359);
  }

  between(least: number, most: number): number {
    let next = this.#bytes.next();
    if (next.done) {
      this.#bytes = bytesOf(`${this.#words} ${++this.#page}`).values();
      next = this.#bytes.next();
    }
    return Math.round(least + (Number(next.value) / 255) * (most - least));
  }

  color(lightness: number, turn = 0, saturation = 42): string {
    return `hsl(${(this.hue + turn) % 360} ${saturation}% ${lightness}%)`;
  }

  times(count: number, draw: (index: number) => string): string {
    return Array.from({ length: count }, (_, index) => draw(index)).join('');
  }
}

const ground = (fill: string): string => `<rect width="1200" height="600" fill="${fill}"/>`;
const rect = (x: number, y: number, width: number, height: number, fill: string, round = 0) =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${round}" fill="${fill}"/>`;
const disc = (x: number, y: number, radius: number, fill: string): string =>
  `<circle cx="${x}" cy="${y}" r="${radius}" fill="${fill}"/>`;

/** Hills under a low sun. */
const hills = (brush: Brush): string =>
  ground(brush.color(86)) +
  disc(brush.between(450, 750), brush.between(140, 280), 74, brush.color(70, 150, 85)) +
  [280, 190, 100]
    .map((height, layer) => {
      const [x, width] = [brush.between(200, 1000), brush.between(600, 1000)];
      return `<ellipse cx="${x}" cy="600" rx="${width}" ry="${height}" fill="${brush.color(60 - layer * 18)}"/>`;
    })
    .join('');

/** Mountains at a fjord in the hour before sunrise, and their reflection. */
function mountains(brush: Brush): string {
  const ranges = brush.times(3, (layer) => {
    const [base, height] = [400, 290 - layer * 80];
    const peaks = Array.from({ length: 9 }, (_, i) => {
      const up = i % 2 === 0 ? 0.35 : 1;
      return `${i * 150} ${base - Math.round((height * up * brush.between(70, 100)) / 100)}`;
    });
    return `<path d="M0 ${base}L${peaks.join('L')}V${base}Z" fill="${brush.color(56 - layer * 15, 0, 28)}"/>`;
  });
  return `<defs><linearGradient id="a" x2="0" y2="1"><stop stop-color="${brush.color(58, 0, 45)}"/><stop offset="1" stop-color="hsl(32 80% 78%)"/></linearGradient></defs>
${ground('url(#a)')}${disc(brush.between(480, 720), 300, 46, 'hsl(42 95% 82%)')}<g id="b">${ranges}</g>
<g transform="matrix(1 0 0 -.5 0 600)" opacity=".45">${ranges}</g>
${brush.times(14, () => rect(brush.between(0, 1000), brush.between(412, 590), brush.between(60, 200), 2, 'hsl(32 80% 88% / .5)'))}`;
}

const icons = (brush: Brush): string =>
  ground(brush.color(94, 0, 30)) +
  brush.times(24, (i) => {
    const [x, y] = [150 + (i % 6) * 180, 90 + Math.floor(i / 6) * 140];
    const line = `fill="none" stroke="${brush.color(30, 0, 35)}" stroke-width="9" stroke-linecap="round" stroke-linejoin="round"`;
    const shapes = [
      `<path ${line} d="M-36 10 0-34 36 10M-24 4v34h48V4"/>`,
      `<circle ${line} cx="-6" cy="-6" r="26"/><path ${line} d="M14 14 36 36"/>`,
      `<path ${line} d="M0 36C-60-6-26-52 0-20 26-52 60-6 0 36Z"/>`,
      `<path ${line} d="M-34-26h68v52h-68zM-34-22 0 6 34-22"/>`,
      `<path ${line} d="M0-38 11-12 38-10 17 8 24 35 0 20-24 35-17 8-38-10-11-12Z"/>`,
      `<circle ${line} r="32"/><path ${line} d="M0-18V2L14 10"/>`,
    ];
    return `<g transform="translate(${x} ${y})">${shapes[brush.between(0, 5)]}</g>`;
  });

const pattern = (brush: Brush): string => {
  const petals = (count: number, radius: number, fill: string) =>
    Array.from(
      { length: count },
      (_, i) =>
        `<ellipse rx="${radius / 2.6}" ry="${radius}" cy="-${radius}" transform="rotate(${(360 / count) * i})" fill="${fill}"/>`,
    ).join('');
  const flower = (x: number, y: number, size: number, turn: number) =>
    `<g transform="translate(${x} ${y})">${petals(brush.between(5, 8), size, brush.color(62, turn, 60))}${disc(0, 0, size / 2, 'hsl(44 85% 62%)')}</g>`;
  return `<defs><pattern id="a" width="200" height="200" patternUnits="userSpaceOnUse"><path d="M100 0C60 60 140 140 100 200" fill="none" stroke="${brush.color(34, 0, 30)}" stroke-width="5"/>${flower(50, 60, 30, 0)}${flower(150, 150, 24, 140)}</pattern></defs>${ground(brush.color(20, 0, 30))}${ground('url(#a)')}`;
};

const planets = (brush: Brush): string =>
  ground(brush.color(13, 0, 50)) +
  brush.times(60, () => disc(brush.between(0, 1200), brush.between(0, 600), 2, '#fff')) +
  brush.times(4, (i) => {
    const [x, y, size] = [260 + i * 230, brush.between(170, 430), brush.between(55, 120)];
    const ring = `<ellipse cx="${x}" cy="${y}" rx="${size * 1.7}" ry="${size / 3}" fill="none" stroke="hsl(44 70% 75%)" stroke-width="8" transform="rotate(-18 ${x} ${y})"/>`;
    return (
      disc(x, y, size, brush.color(58, i * 80, 60)) +
      `<circle cx="${x - size * 0.3}" cy="${y - size * 0.3}" r="${size * 0.55}" fill="#fff" opacity=".14"/>${i % 2 === 1 ? ring : ''}`
    );
  });

/** Stone with lichen. */
const texture = (brush: Brush): string =>
  `<filter id="a" x="0" y="0" width="100%" height="100%"><feTurbulence type="fractalNoise" baseFrequency=".012" numOctaves="5" seed="${brush.between(1, 99)}"/><feColorMatrix values="0 0 0 0 ${0.4 + brush.between(0, 30) / 100} 0 0 0 0 .56 0 0 0 0 .3 0 0 0 9 -4.3"/></filter>
<filter id="b" x="0" y="0" width="100%" height="100%"><feTurbulence type="fractalNoise" baseFrequency=".5" numOctaves="3" seed="7"/><feColorMatrix values="0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 .9 -.25"/></filter>
${ground('hsl(40 6% 62%)')}<rect width="1200" height="600" filter="url(#a)"/><rect width="1200" height="600" filter="url(#b)" opacity=".5"/>`;

const poster = (brush: Brush): string =>
  ground(brush.color(80, 0, 18)) +
  brush.times(3, (i) => {
    const x = 345 + i * 180;
    const shapes = [
      disc(x + 75, 250, 56, brush.color(48, 0, 68)),
      `<path d="M${x} 340 L${x + 150} 160 V340Z" fill="${brush.color(48, 140, 60)}"/>`,
      brush.times(4, (n) => rect(x + 18, 165 + n * 46, 114 - n * 22, 24, brush.color(46, 220, 58))),
    ];
    return (
      rect(x - 5, 128, 170, 350, 'hsl(0 0% 0% / .12)', 4) +
      rect(x - 10, 120, 170, 350, 'hsl(44 50% 96%)', 2) +
      shapes[i] +
      rect(x + 12, 380, 120, 18, brush.color(22, 0, 20)) +
      rect(x + 12, 410, 80, 9, brush.color(50, 0, 12))
    );
  });

const dashboard = (brush: Brush): string => {
  const card = (x: number, y: number, width: number, height: number) =>
    rect(x, y, width, height, '#fff', 12);
  const bars = brush.times(11, (i) => {
    const height = brush.between(40, 150);
    return rect(
      500 + i * 32,
      500 - height,
      20,
      height,
      brush.color(i % 3 === 0 ? 52 : 74, 0, 55),
      4,
    );
  });
  const tiles = brush.times(
    3,
    (i) =>
      card(480 + i * 128, 130, 114, 104) +
      rect(494 + i * 128, 148, 50, 9, brush.color(70, 0, 12), 4) +
      rect(494 + i * 128, 176, 80, 22, brush.color(30, 0, 25), 5) +
      rect(494 + i * 128, 210, 40, 8, brush.color(55, 100, 50), 4),
  );
  return `${ground(brush.color(88, 0, 30))}${rect(320, 60, 560, 490, brush.color(95, 0, 28), 16)}${rect(320, 60, 130, 490, brush.color(22, 0, 38), 16)}
${brush.times(6, (i) => rect(345, 140 + i * 46, i === 1 ? 84 : 70, 12, i === 1 ? '#fff' : brush.color(58, 0, 18), 6))}
${disc(360, 100, 14, brush.color(60, 150, 70))}${rect(480, 92, 160, 16, brush.color(36, 0, 22), 6)}${tiles}${card(480, 254, 370, 270)}${bars}`;
};

const water = (brush: Brush): string =>
  ground('hsl(196 45% 46%)') +
  brush.times(13, (i) => {
    const y = 30 + i * 46;
    const [high, low] = [brush.between(18, 60), brush.between(18, 60)];
    return `<path d="M0 ${y}C200 ${y - high} 400 ${y + low} 600 ${y}S1000 ${y - low} 1200 ${y}V600H0Z" fill="hsl(${190 + i * 2} 42% ${62 - i * 3}%)"/>`;
  });

const harbour = (brush: Brush): string => {
  const houses = brush.times(16, (i) => {
    const [x, height] = [i * 76, brush.between(90, 240)];
    const windows = brush.times(6, (n) =>
      brush.between(0, 1) === 0
        ? ''
        : rect(
            x + 12 + (n % 2) * 26,
            392 - height + 18 + Math.floor(n / 2) * 30,
            12,
            14,
            'hsl(44 90% 66%)',
          ),
    );
    return rect(x, 392 - height, 68, height, brush.color(16, 0, 32)) + windows;
  });
  const lights = brush.times(14, () =>
    rect(brush.between(20, 1180), 400, 6, brush.between(40, 150), 'hsl(44 90% 66% / .5)', 3),
  );
  return `${ground(brush.color(9, 0, 45))}${disc(930, 90, 30, 'hsl(44 40% 90%)')}${houses}${rect(0, 392, 1200, 208, brush.color(12, 0, 50))}${lights}`;
};

const ink = (brush: Brush): string =>
  `<filter id="a" x="-20%" y="-20%" width="140%" height="140%"><feTurbulence baseFrequency=".014" numOctaves="4" seed="${brush.between(1, 99)}"/><feDisplacementMap in="SourceGraphic" scale="110"/></filter>
${ground('hsl(44 30% 95%)')}<g filter="url(#a)">${disc(560, 300, 190, brush.color(16, 0, 30))}${disc(730, 210, 80, brush.color(20, 0, 40))}${disc(640, 430, 60, brush.color(20, 0, 30))}</g>`;

/** A title in the lower third of a picture. */
const titles = (brush: Brush): string =>
  ground(brush.color(26, 0, 22)) +
  disc(620, 250, 120, brush.color(44, 20, 24)) +
  `<ellipse cx="620" cy="600" rx="230" ry="210" fill="${brush.color(38, 20, 24)}"/>` +
  rect(330, 420, 12, 96, brush.color(62, 0, 75)) +
  rect(342, 420, 330, 56, 'hsl(0 0% 100% / .94)') +
  rect(362, 438, 210, 20, brush.color(20, 0, 25), 4) +
  rect(342, 476, 230, 40, brush.color(34, 0, 45)) +
  rect(362, 490, 150, 12, '#fff', 4);

/** The wave of a sound. */
const wave = (brush: Brush): string =>
  ground(brush.color(18, 0, 38)) +
  brush.times(58, (i) => {
    const swell = 0.25 + 0.75 * Math.sin((Math.PI * i) / 57) ** 2;
    const height = Math.max(14, Math.round(brush.between(40, 380) * swell));
    return rect(
      24 + i * 20,
      300 - height / 2,
      11,
      height,
      brush.color(i < 26 ? 66 : 46, 0, i < 26 ? 70 : 30),
      5,
    );
  });

/** What a picture shows, by the category of what is sold, or its category and sub-category. */
const MOTIFS: Readonly<Record<string, (brush: Brush) => string>> = {
  'Photography/Cities': harbour,
  Photography: mountains,
  'Illustrations/Icons': icons,
  'Illustrations/Patterns': pattern,
  'Illustrations/Space': planets,
  Textures: texture,
  'Templates/Print': poster,
  Templates: dashboard,
  'Stock Footage/Cities': harbour,
  'Stock Footage': water,
  'Motion Graphics/Transitions': ink,
  'Motion Graphics': titles,
  Music: wave,
  'Sound Effects': wave,
};

/**
 * A picture as SVG, always the same for the same words; wide, or its middle as a square.
 *
 * @param category - of the item that it shows; hills without one.
 */
export function picture(words: string, isSquare: boolean, category = '', part = ''): string {
  const draw = MOTIFS[`${category}/${part}`] ?? MOTIFS[category] ?? hills;
  const size = isSquare
    ? 'width="480" height="480" viewBox="300 0 600 600"'
    : 'viewBox="0 0 1200 600"';
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${draw(new Brush(words))}</svg>`;
}
