import * as z from 'zod/mini';
import { DAY, timestamp } from '../clock.js';
import { findOrThrow, newPurchase } from './sandbox-data.js';
import {
  parseOrThrow,
  refuseRepeats,
  type SandboxSeed,
  type SeedItem,
  type SeedPurchase,
  type SeedWorkspace,
  seedSchema,
} from './schema.js';

/** Five people to log in as: complete, unicode, unverified, and one who has given little but dates and addresses. */
const USERS = `
user_id | user_name | user_email | user_firstname | user_lastname | user_gender | user_birthdate | user_registered | user_verified
  user_relationship | user_website | user_biography
3001 | mira.solheim | mira@solheim.example | Mira | Solheim | female | 1991-03-14 | 2019-04-02 | 1
  married | https://solheim.example/ | Interface designer in Bergen. Collects maps and mechanical keyboards.
3002 | taguilar | tomas@correo.example | Tomás | Aguilar Ibáñez | male | 1984-11-30 | 2017-09-21 | 1
  single | https://aguilar.example/reel?lang=es | Edits documentaries & trailers. “Cut on the blink.”
3003 | jiayi | jiayi.lin@mail.example | 佳怡 | 林 | female | 1999-07-08 | 2022-01-17 | 1
   | https://jiayi.example/ | Game audio, Taipei.
3004 | dele_o | dele@okafor.example | Dele | Okafor | male | 1996-02-29 | 2024-06-05 | 0
  engaged | https://okafor.example/ | Just moved in. Has not confirmed the address yet.
3005 | guest77 | guest77@post.example |  |  |  | 2001-10-02 | 2025-02-11 | 0
   | https://guest77.example/ |
`;

/** Two workspaces, to show that each key reads its own account only. */
const WORKSPACES = `
id | api_key | username | email | balance | currency | registered_at
  firstname | lastname | heading | description | contact | social_links
northlight | 7d1f0c9ab4e85236f09d7c1be24a6853a1c7f4e09b52d86e3f10a95c7b2e4d68 | northlight | ingrid@northlight.example | 4318.75 | USD | 2016-08-19T09:24:51Z
  Ingrid | Halvorsen | Northlight Studio | Pictures, textures and footage made under a low sun. | hello@northlight.example | facebook=https://www.facebook.com/northlight.example, x=https://x.com/northlight_example, behance=https://www.behance.net/northlight-example
tidewater | c25a8e17f3604bd9918e5d02a7f6c34b60d9e1872fab45c3705e18d9b4a26fc1 | tidewater | marcus@tidewater.example | 912 | EUR | 2020-02-18T07:42:08Z
  Marcus | Bell | Tidewater Audio | Field recordings and small songs from the estuary. | studio@tidewater.example | soundcloud=https://soundcloud.com/tidewater-example
`;

/** Two apps, so that an auth_key of one can be tried with the other. Neither has a redirect URL yet. */
const APPS = `
app_id   | app_secret                       | name
18230471 | e4b8d61f9a3c0572be81f46d23907ca5 | Northlight Studio
55409216 | 0f6a92c7d85b41e3a7c9306d1be852f4 | Tide Table
`;

/** 24 items of every kind, with everything that an item can have and lack. */
const ITEMS = `
workspace | id | kind | name | category | sub_category | version | regular | extended | screenshots | published_at
  options | tags | description | deleted
northlight | 1042 | image | Fjord Light | Photography | Landscapes | 2.3.1 | 24 | 180 | 4 | 2023-05-17T06:12:40Z
  JPEG, TIFF, Layered PSD | fjord, dawn, landscape, norway | Sixty photographs of fjords in the hour before sunrise, 6000 pixels wide, with three crops each.
northlight | 1043 | image | Birch and Bone icons | Illustrations | Icons | 4.0.0 | 18 | 140 | 3 | 2023-09-04T11:30:00Z
  SVG, Figma, Icon font | icons, line, interface | Four hundred line icons on a 24 pixel grid, in two weights, cut to stay sharp at small sizes.
northlight | 1044 | image | Old Harbour postcards | Photography | Cities | 1.0.2 | 12 | 80 | 0 | 2018-03-22T15:05:10Z
  JPEG | harbour, vintage | Twenty hand-tinted views of a harbour that has since been rebuilt. | deleted
northlight | 1045 | image | Lichen textures | Textures | Nature | 1.4.0 | 16 | 110 | 2 | 2024-01-29T08:44:12Z
  PNG, PBR maps | lichen, stone, seamless, pbr | Eighteen seamless close-ups of lichen on granite, with normal and roughness maps.
northlight | 1046 | image | Paper Street poster kit | Templates | Print | 3.1.5 | 19 | 150 | 5 | 2022-10-11T13:20:33Z
  InDesign, Affinity, PDF | poster, print, riso, typography | Forty posters for small venues: set the type, swap the colour, print in two inks.
northlight | 1047 | image | Polar dashboard UI kit | Templates | Web | 5.2.0 | 39.5 | 290 | 6 | 2025-02-03T10:00:00Z
  Figma, HTML, React | dashboard, ui kit, charts, dark mode | A calm dashboard in two themes: 120 components, 14 full pages, charts included.
northlight | 1048 | image | Midsummer pattern book | Illustrations | Patterns | 1.1.0 | 14 | 95 | 0 | 2021-06-24T18:00:00Z
  SVG, PNG | pattern, floral, seamless | Thirty repeating patterns drawn from meadow flowers, each in four colourways.
northlight | 1049 | video | Slow Water | Stock Footage | Nature | 1.1.3 | 49 | 380 | 4 | 2024-03-19T05:55:00Z
  4K, HD, ProRes | river, aerial, drone, calm | Twelve aerial clips of rivers from straight above, 4K at 60 frames a second.
northlight | 1050 | video | Harbour at night, loop | Stock Footage | Cities | 1.0.0 | 22 | 170 | 0 | 2022-12-02T21:14:09Z
  4K, HD | harbour, night, loop, background | One seamless minute of lamps on black water, made to run behind a title.
northlight | 1051 | video | Ink Bloom transitions | Motion Graphics | Transitions | 2.2.0 | 32 | 240 | 3 | 2023-11-27T14:31:48Z
  MOV with alpha, WebM | ink, transition, alpha | Twenty-four transitions filmed in a tank of water, with alpha channel.
northlight | 1052 | video | Lower thirds, plain | Motion Graphics | Titles | 6.0.1 | 28 | 210 | 4 | 2025-05-06T08:00:00Z
  After Effects, Premiere, DaVinci | lower third, caption, titles | Name captions that get out of the way: eleven layouts, every line editable.
northlight | 1054 | audio | Cold Start logo stings | Music | Logos | 1.2.0 | 12 | 85 | 0 | 2022-02-14T09:00:00Z
  WAV, MP3, Stems | logo, sting, intro | Sixteen two-second endings, bright to dark, in stems.
northlight | 1055 | audio | Ember | Music | Folk | 1.0.1 | 16 | 120 | 0 | 2023-02-27T19:30:15Z
  WAV, MP3 | acoustic, folk, warm, guitar | A warm acoustic bed: guitar, double bass, brushed snare. Four lengths and a loop.
northlight | 1056 | audio | Footsteps on snow | Sound Effects | Foley | 2.1.0 | 18 | 135 | 0 | 2021-01-11T06:30:00Z
  WAV 96 kHz | snow, footsteps, foley, winter | Two hundred single steps in powder, crust and slush, close and far.
northlight | 1058 | audio | Lumen lo-fi loops | Music | Loops | 3.4.2 | 20.5 | 155 | 0 | 2024-09-23T15:48:00Z
  WAV, MIDI | lo-fi, loops, tape, chill | Forty loops with tape hiss left in, labelled by key and tempo.
northlight | 1060 | image | Tiny Planets illustrations | Illustrations | Space | 1.2.7 | 21 | 160 | 3 | 2024-08-15T12:12:12Z
  SVG, Figma | planets, space, cover, empty state | Twelve round worlds with their own weather, for covers and empty states.
tidewater | 1061 | audio | Estuary dawn chorus | Sound Effects | Nature | 1.6.0 | 22 | 165 | 0 | 2022-06-03T04:40:00Z
  WAV 96 kHz, MP3 | birds, dawn, field recording | Curlew, redshank and the turning tide, recorded over one spring.
tidewater | 1062 | audio | Tidal pads | Music | Ambient | 2.0.3 | 27 | 205 | 0 | 2023-10-31T20:20:20Z
  WAV, Kontakt | ambient, pad, slow | Ambient pads that take a minute to arrive and another to leave.
tidewater | 1063 | audio | Slipway percussion kit | Music | Drums | 1.1.1 | 24 | 185 | 0 | 2024-02-08T13:37:00Z
  WAV, Ableton rack | percussion, drums, found sound | Drums built from hulls, chains and a diesel tank.
tidewater | 1064 | audio | Rope, chain, winch | Sound Effects | Objects | 1.0.9 | 13 | 95 | 0 | 2021-03-15T11:11:11Z
  WAV | rope, chain, mechanical | Ninety effects from a working yard, in mono and stereo.
tidewater | 1065 | audio | Foghorn textures | Sound Effects | Ambience | 1.2.2 | 15 | 115 | 0 | 2025-01-20T06:06:06Z
  WAV, Surround | foghorn, low, sea | Low notes across open water, near, far and through walls.
tidewater | 1066 | video | Underwater loops | Stock Footage | Nature | 1.0.4 | 34 | 260 | 0 | 2023-07-20T10:45:00Z
  4K, HD | underwater, light, loop | Light through shallow water in ten loops, shot on a still day.
tidewater | 1067 | video | Waveform title pack | Motion Graphics | Titles | 3.0.0 | 29 | 225 | 3 | 2024-05-28T17:25:36Z
  After Effects | audio reactive, titles, waveform | Titles that move with your sound: drop in a track, pick a line.
tidewater | 1069 | image | Chart room photographs | Photography | Interiors | 1.3.0 | 17 | 125 | 0 | 2021-12-19T16:40:55Z
  JPEG, RAW | maritime, brass, charts | Brass, oak and old sea charts, photographed by window light.
`;

/** A purchase of every kind, under codes that never change. `sold` and `support` are days from the start. */
const PURCHASES = `
purchase_code                        | kind            | id   | license_type | sold | support | downloaded
6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10 | supported       | 1042 | Regular      |  -60 |     122 | yes
b83e07d1-4c6f-4a92-9e18-5d7a3c1f60b2 | extended        | 1042 | Extended     |  -25 |     340 | yes
2d94f6c8-71b5-4e03-a4d7-8f0b92e6c153 | support-over    | 1042 | Regular      | -227 |     -45 | yes
94a0c3e7-d25f-4816-b7c9-13e68fd05a24 | unsupported     | 1042 | Regular      |   -3 |         |
e7520b9d-8a13-4fc6-85e2-c40d71a9f635 | other-item      | 1046 | Regular      |  -92 |      90 | yes
0c6e8d42-f39b-47a5-9d01-a86b5f72e346 | video-item      | 1049 | Regular      |  -11 |     171 |
5ab17f90-2e4d-4d68-bc73-e91f08d6c457 | audio-item      | 1055 | Extended     | -124 |      58 | yes
d318c6a5-b07e-4952-8f4a-670e2d9bc568 | deleted-item    | 1044 | Regular      | -150 |      30 | yes
8e4f5b03-c1d6-4e79-a260-fb37d8a0e679 | refunded        | 1042 | Regular      |  -82 |     100 | yes
37b9d2e1-650c-4a8f-93be-4d1c76f5a780 | cancelled       | 1046 | Regular      |   -7 |         |
f60a7c28-39e4-4b15-8d97-b25e0f83c891 | other-workspace | 1061 | Regular      | -108 |      75 | yes
1e85d0f7-a46b-4c32-b0e8-957c3d2af9a2 | other-workspace | 1064 | Extended     |   -1 |         |
`;

/**
 * Reads a table of text, a record a line, whose first line names the columns: `|` stands between columns, and
 * an indented line goes on with the record above. A cell that is missing reads as an empty string.
 */
function parseTable<Column extends string>(table: string): Record<Column, string>[] {
  const lines = table.trim().replaceAll('\n ', ' | ').split('\n');
  const [columns = [], ...rows] = lines.map((line) => line.split('|').map((cell) => cell.trim()));
  return rows.map((cells) => {
    const entries = columns.map((column, index) => [column, cells[index] ?? '']);
    return Object.fromEntries(entries) as Record<Column, string>;
  });
}

/**
 * What a sandbox starts with by default.
 *
 * @param now - The time from which the dates of purchases are counted, in epoch milliseconds: support that
 * is still ahead today is still ahead next year.
 */
function defaultSeed(now: number): SandboxSeed {
  const workspaces = parseTable<
    keyof SeedWorkspace | keyof SeedWorkspace['name'] | keyof SeedWorkspace['profile']
  >(WORKSPACES).map(
    ({ firstname, lastname, heading, description, contact, social_links, ...account }) => ({
      ...account,
      name: { firstname, lastname, full_name: `${firstname} ${lastname}` },
      balance: Number(account.balance),
      profile: {
        heading,
        description,
        contact: { email: contact },
        social_links: Object.fromEntries(social_links.split(', ').map((link) => link.split('='))),
      },
    }),
  );
  const rows = parseTable<keyof SeedItem | 'regular' | 'extended'>(ITEMS).map(
    ({ regular, extended, deleted, ...item }) => ({
      ...item,
      id: Number(item.id),
      options: item.options.split(', '),
      tags: item.tags.split(', '),
      screenshots: Number(item.screenshots),
      price: { regular: Number(regular), extended: Number(extended) },
      currency: workspaces.find(({ id }) => id === item.workspace)?.currency,
      ...(deleted && { deleted: true }),
    }),
  );
  const items = parseOrThrow(seedSchema.shape.items, rows, 'default items');
  const purchases = parseTable<keyof SeedPurchase | 'id' | 'sold' | 'support'>(PURCHASES).map(
    ({ purchase_code, kind, id, license_type, sold, support, downloaded }) =>
      newPurchase(findOrThrow(items, 'id', Number(id)), now + Number(sold) * DAY, {
        ...{ purchase_code, kind, license_type, downloaded: downloaded === 'yes' },
        ...(support && { supported_until: timestamp(now + Number(support) * DAY) }),
        ...((kind === 'refunded' || kind === 'cancelled') && { void: kind }),
      }),
  );
  const seed = { users: parseTable(USERS), workspaces, apps: parseTable(APPS), items, purchases };
  return parseOrThrow(seedSchema, seed, 'default seed');
}

/** The text of a field, unless the deployment sends null or nothing. */
const textOf = (value: unknown, otherwise = ''): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : otherwise;

/** A list that some deployments send as an object (`{"0": …}`) or as one text. */
function listOf(value: unknown): string[] {
  const entries = typeof value === 'string' ? value.split(',') : Object.values(Object(value));
  return entries.map((each) => textOf(each).trim()).filter(Boolean);
}

/** An item as items/all of the service sends it, also in the dialects that the field notes list. */
function itemOfAnswer(answered: unknown, workspace: string, now: number): SeedItem {
  const item: Record<string, unknown> = Object(answered);
  const { regular, extended }: Record<string, unknown> = Object(item.price);
  const { thumbnail, screenshots, ...others }: Record<string, unknown> = Object(item.media);
  const previews = Object.entries(others).filter(([, url]) => typeof url === 'string');
  const has = (name: string) => previews.some(([each]) => each === name);
  const shown = listOf(screenshots);
  const version = textOf(item.version);
  const published = Date.parse(textOf(item.published_at));
  return {
    ...{ id: Number(item.id), workspace, name: textOf(item.name) },
    kind: has('preview_audio') ? 'audio' : has('preview_video') ? 'video' : 'image',
    ...{ description: textOf(item.description), category: textOf(item.category, 'Other') },
    ...{ sub_category: textOf(item.sub_category), options: listOf(item.options) },
    version: /^\d+\.\d+\.\d+$/.test(version) ? version : '1.0.0',
    demo_link: textOf(item.demo_link) || undefined,
    ...{ tags: listOf(item.tags), screenshots: 0 },
    media: thumbnail
      ? {
          thumbnail: textOf(thumbnail),
          ...Object.fromEntries(previews),
          ...(shown.length > 0 && { screenshots: shown }),
        }
      : undefined,
    price: { regular: Number(regular), extended: Number(extended) },
    currency: textOf(item.currency, 'USD'),
    published_at: timestamp(Number.isNaN(published) ? now : published),
  };
}

/**
 * A seed of an answer of items/all: the items belong to the first workspace, and purchases of every state are made
 * for them. `undefined` for what is no such answer.
 */
function seedOfAnswer(option: unknown, now: number): Partial<SandboxSeed> | undefined {
  const { status, items: answered }: Record<string, unknown> = Object(option);
  if (status === undefined || !Array.isArray(answered)) return undefined;
  const { workspaces, purchases } = defaultSeed(now);
  const parsed = answered.map((each) => itemOfAnswer(each, workspaces[0]?.id ?? '', now));
  const items = parseOrThrow(seedSchema.shape.items, parsed, 'seed.items');
  // Some kinds say which item they are of.
  const sold = purchases.filter(({ kind }) => !/-(item|workspace)$/.test(kind));
  return {
    items,
    purchases: sold.flatMap(({ item_id: _, price: __, currency: ___, ...fields }, index) => {
      const item = items[index % items.length];
      return item ? [newPurchase(item, now, fields)] : [];
    }),
  };
}

/**
 * Puts a caller's parts in place of the default ones. A default item or purchase that would point at
 * something replaced is left out; a caller's own that points nowhere throws a TypeError that names it.
 *
 * @param option - The `seed` option, or an answer of items/all.
 * @param now - The time from which default support dates are counted, in epoch milliseconds.
 */
export function buildSeed(option: unknown, now: number): SandboxSeed {
  const given = seedOfAnswer(option, now) ?? option ?? {};
  const parts = structuredClone(parseOrThrow(z.partial(seedSchema), given, 'seed'));
  const present = Object.entries(parts).filter(([, part]) => part !== undefined);
  const seed: SandboxSeed = { ...defaultSeed(now), ...Object.fromEntries(present) };
  const workspaces = new Set(seed.workspaces.map(({ id }) => id));
  if (!parts.items) seed.items = seed.items.filter((item) => workspaces.has(item.workspace));
  const items = new Set(seed.items.map(({ id }) => id));
  if (!parts.purchases) seed.purchases = seed.purchases.filter(({ item_id }) => items.has(item_id));

  const lost = seed.items.findIndex(({ workspace }) => !workspaces.has(workspace));
  if (lost >= 0) throw new TypeError(`seed.items[${lost}].workspace: there is no such workspace`);
  const orphan = seed.purchases.findIndex(({ item_id }) => !items.has(item_id));
  if (orphan >= 0) throw new TypeError(`seed.purchases[${orphan}].item_id: there is no such item`);
  for (const part of Object.keys(seed) as (keyof SandboxSeed)[]) {
    refuseRepeats(part, seed[part], `seed.${part}`);
  }
  return seed;
}
