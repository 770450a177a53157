import type { Request, Response, Router } from 'express';
import express from 'express';
import { fileOf } from './files.js';
import type { SeedItem, SeedUser } from './schema.js';

/** The URLs of an item's media: each kind of item has other previews (spec, "media fields"). */
export function mediaOf(item: Readonly<SeedItem>, origin: string): NonNullable<SeedItem['media']> {
  const { id, kind, category, screenshots } = item;
  if (item.media) return item.media;
  const url = (file: string) => `${origin}/media/items/${id}/${file}`;
  return {
    thumbnail: url('thumbnail.svg'),
    ...(kind !== 'audio' && { preview_image: url('preview.svg') }),
    ...(kind === 'video' && { preview_video: url('clip.webm') }),
    ...(kind === 'audio' && {
      preview_audio: url(category === 'Sound Effects' ? 'effects.mp3' : 'music.mp3'),
    }),
    ...(screenshots > 0 && {
      screenshots: Array.from({ length: screenshots }, (_, n) => url(`screenshot-${n + 1}.svg`)),
    }),
  };
}

/** The path of the sandbox's own picture of a user. */
export const pictureUrl = ({ user_id }: Pick<SeedUser, 'user_id'>, file = 'picture.svg'): string =>
  `/media/users/${encodeURIComponent(user_id)}/${file}`;

/** The pictures that items without one of their own borrow, by their ids. */
const LENT = [1042, 1061, 1060, 1048, 1050, 1046, 1055, 1049, 1058, 1056];

/** What part of its picture a file shows: a thumbnail the middle, a screenshot a detail. */
function partShown(file: string): string | undefined {
  if (file === 'thumbnail.svg') return '300 0 600 600" width="480" height="480';
  const [, n] = /^screenshot-(\d+)/.exec(file) ?? [];
  return (
    n && ['200 0 800 500', '0 200 640 400', '560 60 640 400', '320 150 560 350'][Number(n) % 4]
  );
}

/** The picture of an item, a user or an account. */
function pictureOf(folder: string, id: string, file: string): string {
  const isFace = folder !== 'items' && file !== 'cover.svg';
  const lent = isFace ? 'people' : LENT[[...id].reduce((sum, c) => sum + c.charCodeAt(0), 0) % 10];
  const own = folder === 'items' || isFace ? fileOf(`pictures/${id}.svg`) : undefined;
  const picture = String(own ?? fileOf(`pictures/${lent}.svg`));
  return picture.replace('0 0 1200 600', partShown(file) ?? '$&');
}

/** Sends a media file. Browsers seek in sound and video by byte ranges; pages of the app's own origin embed it. */
function sendMedia(req: Request, res: Response, name: string, bytes: Buffer): void {
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

/** The pictures, sounds and clips that items, users and accounts announce. */
export function mediaRouter(): Router {
  const router = express.Router();
  router.get('/media/:folder/:id/:file', (req: Request<Record<string, string>>, res, next) => {
    const { folder = '', id = '', file = '' } = req.params;
    const recording = /^(clip\.webm|music\.mp3|effects\.mp3)$/.test(file) && fileOf(file);
    if (recording) sendMedia(req, res, file, recording);
    else if (!/^[\w-]+\.svg$/.test(file)) next();
    else {
      const name = /^[\w-]+$/.test(id) ? id : '';
      sendMedia(req, res, 'a.svg', Buffer.from(pictureOf(folder, name, file)));
    }
  });
  return router;
}
