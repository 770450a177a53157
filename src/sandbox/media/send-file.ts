import type { Request, Response } from 'express';

/** The one byte range a request asks for; `undefined` for none, `'none'` for one that does not exist. */
function rangeOf(req: Request, size: number): readonly [number, number] | 'none' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(req.headers.range ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return undefined;
  const [from, to] = [match[1] ?? '', match[2] ?? ''];
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return start <= end ? [start, end] : 'none';
}

/**
 * Sends a media file. Byte ranges are honoured because browsers seek in sound and video by them, and
 * other origins may embed it because that is what the app under development does.
 */
export function sendFile(
  req: Request,
  res: Response,
  type: string,
  content: string | Buffer,
): void {
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
    res.statusCode = 416;
    res.setHeader('Content-Range', `bytes */${bytes.length}`);
    res.end();
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
