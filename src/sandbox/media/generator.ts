/** Numbers from 0 to 1 that are always the same for the same words (FNV-1a to seed, mulberry32 to run). */
function randomOf(words: string): () => number {
  let state = 2166136261;
  for (const char of words) state = Math.imul(state ^ (char.codePointAt(0) ?? 0), 16777619);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A picture as SVG: hills under a low sun, always the same for the same words; wide, or its middle as a square. */
export function picture(words: string, isSquare: boolean): string {
  const random = randomOf(words);
  const between = (least: number, most: number) => Math.round(least + random() * (most - least));
  const hue = between(0, 359);
  const shade = (lightness: number) => `hsl(${hue} 38% ${lightness}%)`;
  const sun = `<circle cx="${between(450, 750)}" cy="${between(140, 280)}" r="74" fill="hsl(${(hue + 150) % 360} 85% 70%)"/>`;
  const hills = [0, 1, 2].map((layer) => {
    const phase = between(0, 600) / 100;
    const points = Array.from({ length: 31 }, (_, i) => {
      const height = Math.sin(i / 5 + phase) * 40 + Math.sin(i / 2 + phase * 2) * 18;
      return `${i * 40} ${Math.round(330 + layer * 90 - height)}`;
    });
    return `<path fill="${shade(60 - layer * 18)}" d="M0 600L${points.join('L')}L1200 600z"/>`;
  });
  const size = isSquare
    ? 'width="480" height="480" viewBox="300 0 600 600"'
    : 'viewBox="0 0 1200 600"';
  const ground = `<rect width="1200" height="600" fill="${shade(86)}"/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${ground}${sun}${hills.join('')}</svg>`;
}

const RATE = 11_025;
const SECONDS = 3;

/** A plucked chord as a WAV file (PCM, one channel, 16 bits a sample), always the same for the same words. */
export function sound(words: string): Buffer {
  const root = 196 * 2 ** (Math.floor(randomOf(words)() * 12) / 12);
  const samples = Int16Array.from({ length: SECONDS * RATE }, (_, i) => {
    const turn = (2 * Math.PI * root * i) / RATE;
    const chord = Math.sin(turn) + Math.sin(turn * 1.26) + Math.sin(turn * 1.5);
    return chord * 9000 * Math.exp((-2 * i) / RATE);
  });
  const data = Buffer.from(samples.buffer);
  const head = Buffer.from('RIFF....WAVEfmt ....................data....', 'latin1');
  const numbers = [36 + data.length, 16, 0x0001_0001, RATE, RATE * 2, 0x0010_0002, data.length];
  for (const [i, at] of [4, 16, 20, 24, 28, 32, 40].entries())
    head.writeUInt32LE(numbers[i] ?? 0, at);
  return Buffer.concat([head, data]);
}
