import { readFileSync } from 'node:fs';
import type { Request, Response, Router } from 'express';
import express from 'express';
import type { SandboxContext } from '../context.js';
import type { SeedItem } from '../data/schema.js';
import { MARK } from '../pages/page.js';
import { cover, initial, previewImage, screenshot, thumbnail } from './pictures.js';
import { previewAudio } from './preview-audio.js';

/** Two seconds of a disc going round, recorded once in a browser: Node has no video encoder. */
const CLIP = readFileSync(new URL('./preview.webm', import.meta.url), 'base64');

interface MediaFile {
  readonly type: string;
  readonly content: string | Buffer;
}

const svg = (content: string): MediaFile => ({ type: 'image/svg+xml; charset=utf-8', content });

/** A file of an item, if it has it: the presence rules are the ones of the spec, "media fields". */
function itemFile(item: Readonly<SeedItem>, file: string): MediaFile | undefined {
  if (file === 'thumbnail.svg') return svg(thumbnail(item));
  // The wide picture exists for every item; audio items do not announce it as preview_image.
  if (file === 'cover.svg') return svg(previewImage(item));
  if (file === 'preview.svg' && item.kind !== 'audio') return svg(previewImage(item));
  if (file === 'preview.webm' && item.kind === 'video') {
    return { type: 'video/webm', content: Buffer.from(CLIP, 'base64') };
  }
  if (file === 'preview.wav' && item.kind === 'audio') {
    return { type: 'audio/wav', content: previewAudio(item.id) };
  }
  const number = Number(/^screenshot-(\d{1,2})\.svg$/.exec(file)?.[1] ?? 0);
  return number >= 1 && number <= item.screenshots ? svg(screenshot(item, number)) : undefined;
}

function personFile(name: string, file: string): MediaFile | undefined {
  if (file === 'cover.svg') return svg(cover(name));
  return ['picture.svg', 'avatar.svg', 'icon.svg'].includes(file) ? svg(initial(name)) : undefined;
}

/** Pictures, sounds and clips of items, users, accounts and apps, all made by the sandbox itself. */
export function mediaRouter({ data }: SandboxContext): Router {
  const router = express.Router();
  router.get('/media/mark.svg', (req, res) => sendFile(req, res, svg(MARK)));
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
      if (found) return sendFile(req, res, found);
      res.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' });
      res.end('There is no such file.\n');
    },
  );
  return router;
}

/** The one byte range that a request asks for; `undefined` for none, `'none'` for one that does not exist. */
function rangeOf(req: Request, size: number): readonly [number, number] | 'none' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(req.headers.range ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return undefined;
  const [from, to] = [match[1] ?? '', match[2] ?? ''];
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return start <= end ? [start, end] : 'none';
}

/**
 * Sends a media file. Byte ranges are honoured because browsers seek in sound and video by them, and other
 * origins can embed it because that is what the app under development does.
 */
function sendFile(req: Request, res: Response, { type, content }: MediaFile): void {
  const bytes = Buffer.from(content);
  res.setHeader('Content-Type', type);
  res.setHeader('Cache-Control', 'public, max-age=300');
  res.setHeader('Accept-Ranges', 'bytes');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
  // A picture that is opened by itself is a document, and gets no more rights than one.
  res.setHeader('Content-Security-Policy', "default-src 'none'");
  const range = rangeOf(req, bytes.length);
  if (range === 'none') {
    res.writeHead(416, { 'Content-Range': `bytes */${bytes.length}` }).end();
    return;
  }
  const [start, end] = range ?? [0, bytes.length - 1];
  if (range) {
    res.statusCode = 206;
    res.setHeader('Content-Range', `bytes ${start}-${end}/${bytes.length}`);
  }
  res.setHeader('Content-Length', end - start + 1);
  res.end(bytes.subarray(start, end + 1));
}
