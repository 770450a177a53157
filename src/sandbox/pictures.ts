import { createHash } from 'node:crypto';

/** Bytes without end that look random and are always the same for the same words. */
function* bytesOf(words: string): Generator<number> {
  for (let text = words; ; text += ' ') yield* createHash('sha256').update(text).digest();
}

/** Mountains at a fjord before sunrise, as SVG, always the same for the same words; wide, or its middle as a square. */
export function picture(words: string, isSquare: boolean): string {
  const bytes = bytesOf(words);
  const between = (least: number, most: number) =>
    Math.round(least + (bytes.next().value / 255) * (most - least));
  const hue = between(0, 359);
  const ranges = [0, 1, 2].map((layer) => {
    const height = 290 - layer * 80;
    const peaks = Array.from({ length: 9 }, (_, i) => {
      const up = i % 2 === 0 ? 0.35 : 1;
      return `${i * 150} ${400 - Math.round((height * up * between(70, 100)) / 100)}`;
    });
    return `<path d="M0 400L${peaks.join('L')}V400Z" fill="hsl(${hue} 28% ${56 - layer * 15}%)"/>`;
  });
  const sun = `<circle cx="${between(480, 720)}" cy="300" r="46" fill="hsl(42 95% 82%)"/>`;
  const lights = Array.from({ length: 14 }, () => {
    const [x, y, width] = [between(0, 1000), between(412, 590), between(60, 200)];
    return `<rect x="${x}" y="${y}" width="${width}" height="2" fill="hsl(32 80% 88% / .5)"/>`;
  });
  const size = isSquare
    ? 'width="480" height="480" viewBox="300 0 600 600"'
    : 'viewBox="0 0 1200 600"';
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>
<defs><linearGradient id="sky" x2="0" y2="1"><stop stop-color="hsl(${hue} 45% 58%)"/><stop offset="1" stop-color="hsl(32 80% 78%)"/></linearGradient></defs>
<rect width="1200" height="600" fill="url(#sky)"/>${sun}${ranges.join('')}
<g transform="matrix(1 0 0 -.5 0 600)" opacity=".45">${ranges.join('')}</g>${lights.join('')}</svg>`;
}
