import { gzipSync } from 'node:zlib';
import type { Response } from 'express';
import { activeFaults } from './active-faults.js';
import { sendBlanks, sendEndlessly } from './send-blanks.js';

/** What an API endpoint answers, before faults. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** What PHP prints into an answer when warnings are not turned off on the server. */
export const WARNING_TEXT =
  '<br />\n<b>Warning</b>:  Undefined array key "lang" in <b>/srv/app/bootstrap.php</b> on line <b>112</b><br />\n';

const BOM = '\uFEFF';
const DEFAULT_BOMB = 64 * 1024 * 1024;

/** Sends an answer, spoilt by the faults that are on for this request. */
export function sendAnswer(res: Response, answer: Answer): void {
  const faults = activeFaults(res);
  res.statusCode = answer.status;
  res.setHeader('Content-Type', answer.contentType);
  res.setHeader('Cache-Control', 'no-store');
  if (!faults) {
    res.setHeader('Content-Length', Buffer.byteLength(answer.body));
    res.end(answer.body);
    return;
  }

  const wrongType = faults.contentType === true ? 'text/html; charset=utf-8' : faults.contentType;
  if (wrongType !== false) res.setHeader('Content-Type', wrongType);
  const text = `${faults.bom ? BOM : ''}${faults.warnings ? WARNING_TEXT : ''}${answer.body}`;
  const whole = Buffer.from(text);
  const half = whole.subarray(0, Math.floor(whole.length / 2));

  if (faults.reset) {
    res.setHeader('Content-Length', whole.length);
    res.write(half);
    // A reset at once could overtake the first half, and then it would not be in the middle of anything.
    const timer = setTimeout(() => res.socket?.resetAndDestroy(), 10);
    res.once('close', () => clearTimeout(timer));
  } else if (faults.endless !== false) {
    sendEndlessly(res, whole, faults.endless === 'slow');
  } else if (faults.gzipBomb !== false) {
    const size = faults.gzipBomb === true ? DEFAULT_BOMB : faults.gzipBomb;
    const blanks = Buffer.alloc(Math.max(0, size - whole.length), ' ');
    res.setHeader('Content-Encoding', 'gzip');
    res.end(gzipSync(Buffer.concat([whole, blanks]), { level: 9 }));
  } else if (faults.truncated) {
    res.setHeader('Content-Length', half.length);
    res.end(half);
  } else if (faults.oversize > whole.length) {
    sendBlanks(res, whole, faults.oversize - whole.length);
  } else {
    res.setHeader('Content-Length', whole.length);
    res.end(whole);
  }
}
