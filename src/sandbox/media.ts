import { readFileSync } from 'node:fs';
import type { Request, Response, Router } from 'express';
import express from 'express';
import type { SeedItem } from './data/schema.js';
import { bytesOf, picture } from './pictures.js';

/** The URLs of an item's media: each kind of item has other previews (spec, "media fields"). */
export function mediaOf(item: Readonly<SeedItem>, origin: string): NonNullable<SeedItem['media']> {
  const { id, kind, screenshots } = item;
  if (item.media) return item.media;
  const url = (file: string) => `${origin}/media/items/${id}/${file}`;
  return {
    thumbnail: url('thumbnail.svg'),
    ...(kind !== 'audio' && { preview_image: url('preview.svg') }),
    ...(kind === 'video' && { preview_video: url('preview.webm') }),
    ...(kind === 'audio' && { preview_audio: url('preview.wav') }),
    ...(screenshots > 0 && {
      screenshots: Array.from({ length: screenshots }, (_, n) => url(`screenshot-${n + 1}.svg`)),
    }),
  };
}

/** Two seconds of a disc going round, recorded once in a browser: Node has no video encoder. */
const CLIP = Buffer.from(
  readFileSync(new URL('./preview.webm', import.meta.url), 'base64'),
  'base64',
);

const RATE = 11_025;
const SECONDS = 3;

/** A plucked chord as a WAV file (PCM, one channel, 16 bits a sample), always the same for the same words. */
function sound(words: string): Buffer {
  const root = 196 * 2 ** (bytesOf(words).readUInt8() / 256);
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

/**
 * The pictures, sounds and clips that items, users and accounts announce, all made by the sandbox itself.
 *
 * @param data - has the items now; all of it can be replaced.
 */
export function mediaRouter(data: { readonly items: readonly Readonly<SeedItem>[] }): Router {
  const router = express.Router();
  router.get('/media/:folder/:id/:file', (req: Request<Record<string, string>>, res) => {
    const { folder = '', id = '', file = '' } = req.params;
    if (file.endsWith('.webm')) return sendFile(req, res, file, CLIP);
    if (file.endsWith('.wav')) return sendFile(req, res, file, sound(id));
    const words = file.startsWith('screenshot') ? `${id} ${file}` : `${folder} ${id}`;
    const isSquare = /^(thumbnail|picture|avatar)/.test(file);
    const item = folder === 'items' ? data.items.find((each) => String(each.id) === id) : undefined;
    const svg = picture(words, isSquare, item?.category, item?.sub_category);
    sendFile(req, res, 'a.svg', Buffer.from(svg));
  });
  return router;
}

/** Sends a media file. Browsers seek in sound and video by byte ranges; pages of the app's own origin embed it. */
function sendFile(req: Request, res: Response, name: string, bytes: Buffer): void {
  res.type(name).set({
    'Cache-Control': 'public, max-age=300',
    'Accept-Ranges': 'bytes',
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'cross-origin',
    // A picture that is opened by itself is a document, and gets no more rights than one.
    'Content-Security-Policy': "default-src 'none'",
  });
  const ranges = req.range(bytes.length);
  const [range] = Array.isArray(ranges) && ranges.type === 'bytes' ? ranges : [];
  const { start, end } = range ?? { start: 0, end: bytes.length - 1 };
  if (range) res.status(206).set('Content-Range', `bytes ${start}-${end}/${bytes.length}`);
  res.send(bytes.subarray(start, end + 1));
}
