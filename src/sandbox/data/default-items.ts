import type { SeedItem } from './schema.js';

const COLUMNS = `
id | kind | name | category | sub_category | version | regular | extended | screenshots | published_at
  options | tags | description | deleted`;

const NORTHLIGHT = `
1042 | image | Fjord Light | Photography | Landscapes | 2.3.1 | 24 | 180 | 4 | 2023-05-17T06:12:40Z
  JPEG, TIFF, Layered PSD | fjord, dawn, landscape, norway | Sixty photographs of fjords in the hour before sunrise, 6000 pixels wide, with three crops each.
1043 | image | Birch and Bone icons | Illustrations | Icons | 4.0.0 | 18 | 140 | 3 | 2023-09-04T11:30:00Z
  SVG, Figma, Icon font | icons, line, interface | Four hundred line icons on a 24 pixel grid, in two weights, cut to stay sharp at small sizes.
1044 | image | Old Harbour postcards | Photography | Cities | 1.0.2 | 12 | 80 | 0 | 2018-03-22T15:05:10Z
  JPEG | harbour, vintage | Twenty hand-tinted views of a harbour that has since been rebuilt. | deleted
1045 | image | Lichen textures | Textures | Nature | 1.4.0 | 16 | 110 | 2 | 2024-01-29T08:44:12Z
  PNG, PBR maps | lichen, stone, seamless, pbr | Eighteen seamless close-ups of lichen on granite, with normal and roughness maps.
1046 | image | Paper Street poster kit | Templates | Print | 3.1.5 | 19 | 150 | 5 | 2022-10-11T13:20:33Z
  InDesign, Affinity, PDF | poster, print, riso, typography | Forty posters for small venues: set the type, swap the colour, print in two inks.
1047 | image | Polar dashboard UI kit | Templates | Web | 5.2.0 | 39.5 | 290 | 6 | 2025-02-03T10:00:00Z
  Figma, HTML, React | dashboard, ui kit, charts, dark mode | A calm dashboard in two themes: 120 components, 14 full pages, charts included.
1048 | image | Midsummer pattern book | Illustrations | Patterns | 1.1.0 | 14 | 95 | 0 | 2021-06-24T18:00:00Z
  SVG, PNG | pattern, floral, seamless | Thirty repeating patterns drawn from meadow flowers, each in four colourways.
1049 | video | Slow Water | Stock Footage | Nature | 1.1.3 | 49 | 380 | 4 | 2024-03-19T05:55:00Z
  4K, HD, ProRes | river, aerial, drone, calm | Twelve aerial clips of rivers from straight above, 4K at 60 frames a second.
1050 | video | Harbour at night, loop | Stock Footage | Cities | 1.0.0 | 22 | 170 | 0 | 2022-12-02T21:14:09Z
  4K, HD | harbour, night, loop, background | One seamless minute of lamps on black water, made to run behind a title.
1051 | video | Ink Bloom transitions | Motion Graphics | Transitions | 2.2.0 | 32 | 240 | 3 | 2023-11-27T14:31:48Z
  MOV with alpha, WebM | ink, transition, alpha | Twenty-four transitions filmed in a tank of water, with alpha channel.
1052 | video | Lower thirds, plain | Motion Graphics | Titles | 6.0.1 | 28 | 210 | 4 | 2025-05-06T08:00:00Z
  After Effects, Premiere, DaVinci | lower third, caption, titles | Name captions that get out of the way: eleven layouts, every line editable.
1054 | audio | Cold Start logo stings | Music | Logos | 1.2.0 | 12 | 85 | 0 | 2022-02-14T09:00:00Z
  WAV, MP3, Stems | logo, sting, intro | Sixteen two-second endings, bright to dark, in stems.
1055 | audio | Ember | Music | Folk | 1.0.1 | 16 | 120 | 0 | 2023-02-27T19:30:15Z
  WAV, MP3 | acoustic, folk, warm, guitar | A warm acoustic bed: guitar, double bass, brushed snare. Four lengths and a loop.
1056 | audio | Footsteps on snow | Sound Effects | Foley | 2.1.0 | 18 | 135 | 0 | 2021-01-11T06:30:00Z
  WAV 96 kHz | snow, footsteps, foley, winter | Two hundred single steps in powder, crust and slush, close and far.
1058 | audio | Lumen lo-fi loops | Music | Loops | 3.4.2 | 20.5 | 155 | 0 | 2024-09-23T15:48:00Z
  WAV, MIDI | lo-fi, loops, tape, chill | Forty loops with tape hiss left in, labelled by key and tempo.
1060 | image | Tiny Planets illustrations | Illustrations | Space | 1.2.7 | 21 | 160 | 3 | 2024-08-15T12:12:12Z
  SVG, Figma | planets, space, cover, empty state | Twelve round worlds with their own weather, for covers and empty states.
`;

const TIDEWATER = `
1061 | audio | Estuary dawn chorus | Sound Effects | Nature | 1.6.0 | 22 | 165 | 0 | 2022-06-03T04:40:00Z
  WAV 96 kHz, MP3 | birds, dawn, field recording | Curlew, redshank and the turning tide, recorded over one spring.
1062 | audio | Tidal pads | Music | Ambient | 2.0.3 | 27 | 205 | 0 | 2023-10-31T20:20:20Z
  WAV, Kontakt | ambient, pad, slow | Ambient pads that take a minute to arrive and another to leave.
1063 | audio | Slipway percussion kit | Music | Drums | 1.1.1 | 24 | 185 | 0 | 2024-02-08T13:37:00Z
  WAV, Ableton rack | percussion, drums, found sound | Drums built from hulls, chains and a diesel tank.
1064 | audio | Rope, chain, winch | Sound Effects | Objects | 1.0.9 | 13 | 95 | 0 | 2021-03-15T11:11:11Z
  WAV | rope, chain, mechanical | Ninety effects from a working yard, in mono and stereo.
1065 | audio | Foghorn textures | Sound Effects | Ambience | 1.2.2 | 15 | 115 | 0 | 2025-01-20T06:06:06Z
  WAV, Surround | foghorn, low, sea | Low notes across open water, near, far and through walls.
1066 | video | Underwater loops | Stock Footage | Nature | 1.0.4 | 34 | 260 | 0 | 2023-07-20T10:45:00Z
  4K, HD | underwater, light, loop | Light through shallow water in ten loops, shot on a still day.
1067 | video | Waveform title pack | Motion Graphics | Titles | 3.0.0 | 29 | 225 | 3 | 2024-05-28T17:25:36Z
  After Effects | audio reactive, titles, waveform | Titles that move with your sound: drop in a track, pick a line.
1069 | image | Chart room photographs | Photography | Interiors | 1.3.0 | 17 | 125 | 0 | 2021-12-19T16:40:55Z
  JPEG, RAW | maritime, brass, charts | Brass, oak and old sea charts, photographed by window light.
`;

/**
 * Reads a table of text, a record a line, whose first line names the columns: `|` stands between columns, and
 * an indented line goes on with the record above. A cell that is missing reads as an empty string.
 */
export function recordsOf<Column extends string>(table: string): Record<Column, string>[] {
  const lines = table.trim().replaceAll('\n ', ' | ').split('\n');
  const [columns = [], ...rows] = lines.map((line) => line.split('|').map((cell) => cell.trim()));
  return rows.map((cells) => {
    const entries = columns.map((column, index) => [column, cells[index] ?? '']);
    return Object.fromEntries(entries) as Record<Column, string>;
  });
}

const itemsOf = (workspace: string, currency: string, table: string): SeedItem[] =>
  recordsOf<keyof SeedItem | 'regular' | 'extended'>(COLUMNS + table).map(
    ({ regular, extended, deleted, ...item }) => ({
      ...item,
      id: Number(item.id),
      workspace,
      kind: item.kind as SeedItem['kind'],
      options: item.options.split(', '),
      tags: item.tags.split(', '),
      screenshots: Number(item.screenshots),
      price: { regular: Number(regular), extended: Number(extended) },
      currency,
      ...(deleted && { deleted: true }),
    }),
  );

/** 24 items of every kind, with everything that an item can have and lack. */
export const defaultItems = (): SeedItem[] => [
  ...itemsOf('northlight', 'USD', NORTHLIGHT),
  ...itemsOf('tidewater', 'EUR', TIDEWATER),
];
