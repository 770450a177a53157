import type { Motif } from './landscapes.js';
import { between, short } from './random.js';

/** The bars of a waveform before a disc: music. */
export const bars: Motif = (random, [dark, deep, mid, warm, light]) => {
  const phase = between(random, 0, 6);
  const columns = Array.from({ length: 40 }, (_, index) => {
    const swell = 0.35 + 0.65 * Math.abs(Math.sin(index / 5.5 + phase));
    const height = Math.max(26, between(random, 70, 330) * swell);
    const fill = index % 7 === 3 ? light : index % 2 ? warm : mid;
    return `<rect x="${15 + index * 30}" y="${short(300 - height / 2)}" width="16" height="${short(height)}" rx="8" fill="${fill}"/>`;
  });
  return `<rect width="1200" height="600" fill="${dark}"/><circle cx="600" cy="300" r="250" fill="${deep}"/>${columns.join('')}`;
};

/** Rings that spread from where something was struck: sound effects. */
export const ripples: Motif = (random, [dark, deep, mid, pale, accent]) => {
  const x = between(random, 470, 730);
  const y = between(random, 220, 380);
  const rings = Array.from({ length: 12 }, (_, index) => {
    const radius = 40 + index * (34 + index * 2);
    const wide = between(random, 3, 16 - index);
    return `<circle cx="${short(x)}" cy="${short(y)}" r="${radius}" fill="none" stroke="${index % 3 === 1 ? pale : mid}" stroke-width="${short(Math.max(2, wide))}" opacity="${short(1 - index * 0.07)}"/>`;
  });
  return `<rect width="1200" height="600" fill="${dark}"/><circle cx="${short(x)}" cy="${short(y)}" r="300" fill="${deep}"/>${rings.join('')}<circle cx="${short(x)}" cy="${short(y)}" r="26" fill="${accent}"/>`;
};
