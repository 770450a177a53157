import { html } from '../../html.js';
import { between, pick, randomOf, short } from './random.js';

const GROUNDS = ['#f4c095', '#9ad1c5', '#b5c7f2', '#f2a9b5', '#d8c7f0', '#c3dca0'] as const;
const SKINS = ['#f3cfb3', '#d9a27a', '#a96f4b', '#7a4a2f', '#e8bd96'] as const;
const HAIRS = ['#2b2320', '#5b3a22', '#a65f2a', '#d9b26a', '#7d8086', '#3a2a44'] as const;
const CLOTHES = ['#22577a', '#8f3b5b', '#2f6b4f', '#4b4a77', '#b5532f'] as const;

/** A drawn portrait, always the same for the same name. */
export function portrait(name: string): string {
  // The number is one of many; with this one the default users look like their names.
  const random = randomOf(`portrait 20684 ${name}`);
  const [ground, skin, hair, cloth] = [
    pick(random, GROUNDS),
    pick(random, SKINS),
    pick(random, HAIRS),
    pick(random, CLOTHES),
  ];
  const fringe = `<path d="M58 96a42 46 0 0 1 84 0q-12-26-42-24t-42 24z" fill="${hair}"/>`;
  const long = `<path d="M52 104a48 52 0 0 1 96 0v54H52z" fill="${hair}"/>`;
  const bun = `<circle cx="100" cy="44" r="19" fill="${hair}"/>`;
  const glasses =
    '<g fill="none" stroke="#1d2622" stroke-width="3"><circle cx="84" cy="104" r="11"/><circle cx="116" cy="104" r="11"/><path d="M95 104h10"/></g>';
  const behind = pick(random, ['', long, bun, long]);
  return [
    '<svg xmlns="http://www.w3.org/2000/svg" width="240" height="240" viewBox="0 0 200 200">',
    `<rect width="200" height="200" fill="${ground}"/>${behind}`,
    `<path d="M30 200a70 56 0 0 1 140 0z" fill="${cloth}"/><path d="M84 128h32v28a16 14 0 0 1-32 0z" fill="${skin}"/>`,
    `<ellipse cx="100" cy="104" rx="38" ry="44" fill="${skin}"/>${fringe}`,
    '<circle cx="84" cy="104" r="4" fill="#1d2622"/><circle cx="116" cy="104" r="4" fill="#1d2622"/>',
    pick(random, ['', '', glasses]),
    '<path d="M86 124q14 12 28 0" fill="none" stroke="#1d2622" stroke-width="3.500" stroke-linecap="round"/></svg>',
  ].join('');
}

/** A wide banner of overlapping discs. */
export function cover(name: string): string {
  const random = randomOf(`cover ${name}`);
  const discs = Array.from(
    { length: 9 },
    () =>
      `<circle cx="${short(between(random, 0, 1200))}" cy="${short(between(random, 0, 300))}" r="${short(between(random, 60, 220))}" fill="${pick(random, [...GROUNDS])}" opacity=".7"/>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="300" viewBox="0 0 1200 300"><rect width="1200" height="300" fill="${pick(random, CLOTHES)}"/>${discs.join('')}</svg>`;
}

/** The icon of an app: the first letter of its name on a colour of its own. */
export function appIcon(name: string): string {
  const random = randomOf(`icon ${name}`);
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="120" height="120" viewBox="0 0 120 120"><rect width="120" height="120" fill="${pick(random, CLOTHES)}"/><path d="M0 120L120 0v120z" fill="#fff" opacity=".1"/><text x="60" y="82" font-family="system-ui, sans-serif" font-size="64" font-weight="700" text-anchor="middle" fill="#fff">${[...name][0] ?? '?'}</text></svg>`.toString();
}

/** The sandbox's own mark, for browser tabs. */
export const MARK =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="#0b6a58"/><path d="M7 25V14a9 9 0 0 1 18 0v11h-4.500V14a4.500 4.500 0 0 0-9 0v11z" fill="#dff5ea"/><circle cx="16" cy="22.500" r="2.500" fill="#ffc857"/></svg>';
