/** Five colours from back to front; the last one stands out. */
export type Palette = readonly [string, string, string, string, string];

const PALETTES: Readonly<Record<string, readonly [Palette, ...Palette[]]>> = {
  Photography: [
    ['#f6d8b8', '#d99a7a', '#8a5a6b', '#3c3450', '#fff3d6'],
    ['#cfe3ea', '#8fb4c4', '#4f7a90', '#1f3d52', '#ffe9b8'],
    ['#f2c6c0', '#c9889a', '#715a86', '#2d2f57', '#fff0d8'],
  ],
  Illustrations: [
    ['#fbf1e2', '#f2b632', '#e4572e', '#1d6f6a', '#24324a'],
    ['#eef3e6', '#8cb369', '#f4a259', '#bc4b51', '#2b4560'],
    ['#f3eafb', '#9a7bd0', '#f2789f', '#f7c65d', '#2a2550'],
  ],
  Textures: [
    ['#e9e5da', '#cfc6b2', '#a99b80', '#6f6550', '#c98c4a'],
    ['#dfe6e2', '#b4c4bb', '#7f978b', '#4a6257', '#d3a13b'],
    ['#e6e6ea', '#bcbfc9', '#8b90a0', '#525868', '#c7684e'],
  ],
  Templates: [
    ['#e8ecf8', '#ffffff', '#c4cdec', '#5a70d6', '#f07a5a'],
    ['#fdeee6', '#ffffff', '#f3cdb8', '#d8623c', '#2c6e72'],
    ['#e3f2ee', '#ffffff', '#b3dcd0', '#1f8a70', '#f0a63a'],
  ],
  'Stock Footage': [
    ['#0d1b2a', '#1f3b57', '#35668a', '#79a9c4', '#ffd27d'],
    ['#141321', '#2e2b52', '#5a4d8f', '#a08fd0', '#ff9d73'],
    ['#0c1f1c', '#17453d', '#2e7a68', '#83c5ab', '#ffe08a'],
  ],
  'Motion Graphics': [
    ['#15122b', '#ff5d73', '#ffb84d', '#47d7c4', '#fdf6ff'],
    ['#0e2233', '#38b6ff', '#ff6f59', '#ffe066', '#f4fbff'],
    ['#20301f', '#9bd770', '#f9c74f', '#f08a4b', '#fbfff2'],
  ],
  Music: [
    ['#2a1a3a', '#7b3f8c', '#e0607e', '#ffb26b', '#fff0df'],
    ['#10243a', '#27598c', '#3fa7d6', '#9be3d3', '#fff6d5'],
    ['#2b1d16', '#7a4327', '#d9813b', '#f4c27a', '#fff3e2'],
  ],
  'Sound Effects': [
    ['#12282b', '#1e5157', '#3f8f8c', '#a6d8c7', '#ffcf70'],
    ['#1d2130', '#3b4666', '#6a7fa8', '#c2d0e6', '#ff8a65'],
    ['#2b1b24', '#5c3348', '#a5637f', '#efc4d3', '#8fe0c9'],
    ['#22261a', '#4a5433', '#879a5b', '#d9e3b0', '#ff9f5a'],
  ],
};

const ANY: Palette = ['#e9eef2', '#b9c7d3', '#7f95a8', '#40566b', '#e2894f'];

/** A palette of a category, another one for the next item; categories of a seed of one's own share one. */
export function paletteOf(category: string, itemId: number): Palette {
  const palettes = PALETTES[category] ?? [ANY];
  // Items of one category often have ids a fixed step apart; the second term breaks that step.
  const turn = itemId + Math.floor(itemId / 4);
  return palettes[turn % palettes.length] ?? palettes[0];
}
