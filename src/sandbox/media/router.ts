import { readFileSync } from 'node:fs';
import type { Request, Response, Router } from 'express';
import express from 'express';
import type { SandboxContext } from '../context.js';
import type { SeedItem } from '../data/schema.js';
import { initial, picture, sound } from './generator.js';

/** Two seconds of a disc going round, recorded once in a browser: Node has no video encoder. */
const CLIP = readFileSync(new URL('./preview.webm', import.meta.url), 'base64');

/** A file of an item, if it has it: the presence rules are the ones of the spec, "media fields". */
function itemFile(item: Readonly<SeedItem>, file: string): string | Buffer | undefined {
  const { id, name, kind, screenshots } = item;
  const words = `${id} ${name}`;
  if (file === 'thumbnail.svg') return picture(words, [480, 480, '300 0 600 600']);
  // The wide picture exists for every item; audio items do not announce it as preview_image.
  if (file === 'cover.svg' || (file === 'preview.svg' && kind !== 'audio')) return picture(words);
  if (file === 'preview.webm' && kind === 'video') return Buffer.from(CLIP, 'base64');
  if (file === 'preview.wav' && kind === 'audio') return sound(words);
  const number = Number(/^screenshot-(\d{1,2})\.svg$/.exec(file)?.[1] ?? 0);
  const isThere = number >= 1 && number <= screenshots;
  return isThere ? picture(`${words} ${number}`, [1200, 750, '120 0 960 600']) : undefined;
}

function personFile(name: string, file: string): string | undefined {
  if (file === 'cover.svg') return picture(name, [1200, 300, '0 200 1200 300']);
  return ['picture.svg', 'avatar.svg', 'icon.svg'].includes(file) ? initial(name) : undefined;
}

/** Pictures, sounds and clips of items, users, accounts and apps, all made by the sandbox itself. */
export function mediaRouter({ data }: SandboxContext): Router {
  const router = express.Router();
  router.get(
    '/media/:folder/:id/:file',
    (req: Request<{ folder: string; id: string; file: string }>, res) => {
      const { folder, id, file } = req.params;
      const item = data.items.find((each) => folder === 'items' && String(each.id) === id);
      const user = data.users.find((each) => folder === 'users' && each.user_id === id);
      const account = data.workspaces.find((each) => folder === 'accounts' && each.id === id);
      const app = data.apps.find((each) => folder === 'apps' && each.app_id === id);
      const name = user?.user_name ?? account?.username ?? app?.name;
      const found = item ? itemFile(item, file) : name && personFile(name, file);
      if (found) sendFile(req, res, file, found);
      else res.status(404).type('text').send('There is no such file.\n');
    },
  );
  return router;
}

/**
 * Sends a media file. Byte ranges are honoured because browsers seek in sound and video by them, and other
 * origins can embed it because that is what the app under development does.
 */
function sendFile(req: Request, res: Response, name: string, content: string | Buffer): void {
  const bytes = Buffer.from(content);
  res.type(name).set({
    'Cache-Control': 'public, max-age=300',
    'Accept-Ranges': 'bytes',
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'cross-origin',
    // A picture that is opened by itself is a document, and gets no more rights than one.
    'Content-Security-Policy': "default-src 'none'",
  });
  const ranges = req.range(bytes.length);
  if (ranges === -1) {
    res.status(416).set('Content-Range', `bytes */${bytes.length}`).end();
    return;
  }
  const [range] = Array.isArray(ranges) && ranges.type === 'bytes' ? ranges : [];
  const { start, end } = range ?? { start: 0, end: bytes.length - 1 };
  if (range) res.status(206).set('Content-Range', `bytes ${start}-${end}/${bytes.length}`);
  res.send(bytes.subarray(start, end + 1));
}
