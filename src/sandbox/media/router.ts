import { readFileSync } from 'node:fs';
import type { Request, Response, Router } from 'express';
import express from 'express';
import type { SandboxContext } from '../context.js';
import { mediaOf } from '../key-api/items.js';
import { picture, sound } from './generator.js';

/** Two seconds of a disc going round, recorded once in a browser: Node has no video encoder. */
const CLIP = readFileSync(new URL('./preview.webm', import.meta.url), 'base64');

/** The pictures, sounds and clips that items, users and accounts announce, all made by the sandbox itself. */
export function mediaRouter({ data }: SandboxContext): Router {
  const isAnnounced = (folder: string, id: string, path: string): boolean => {
    if (folder === 'users') return data.users.some(({ user_id }) => user_id === id);
    if (folder === 'accounts') return data.workspaces.some((each) => each.id === id);
    const item = data.items.find((each) => String(each.id) === id);
    return item !== undefined && Object.values(mediaOf(item, '')).flat().includes(path);
  };
  const router = express.Router();
  router.get('/media/:folder/:id/:file', (req: Request<Record<string, string>>, res, next) => {
    const { folder = '', id = '', file = '' } = req.params;
    if (!isAnnounced(folder, id, req.path)) return next();
    if (file.endsWith('.webm')) return sendFile(req, res, file, Buffer.from(CLIP, 'base64'));
    if (file.endsWith('.wav')) return sendFile(req, res, file, sound(id));
    const words = file.startsWith('screenshot') ? `${id} ${file}` : `${folder} ${id}`;
    const isSquare = /^(thumbnail|picture|avatar)/.test(file);
    sendFile(req, res, 'a.svg', Buffer.from(picture(words, isSquare)));
  });
  return router;
}

/**
 * Sends a media file. Byte ranges are honoured because browsers seek in sound and video by them, and other
 * origins can embed it because that is what the app under development does.
 */
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
  if (ranges === -1) {
    res.status(416).set('Content-Range', `bytes */${bytes.length}`).end();
    return;
  }
  const [range] = Array.isArray(ranges) && ranges.type === 'bytes' ? ranges : [];
  const { start, end } = range ?? { start: 0, end: bytes.length - 1 };
  if (range) res.status(206).set('Content-Range', `bytes ${start}-${end}/${bytes.length}`);
  res.send(bytes.subarray(start, end + 1));
}
