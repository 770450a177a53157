import { Readable } from 'node:stream';
import type { Licence } from './licences.js';

/** A file as it is sent: piece by piece, so that its size costs no memory. */
export interface DownloadFile {
  readonly name: string;
  readonly type: string;
  readonly content: Readable;
}

/**
 * What the customer bought. Here a CSV of colours that is made up on the way; yours would be
 * `createReadStream(path)`, or the body that a bucket answers with.
 */
export function fileOf(licence: Licence): DownloadFile {
  const version = licence.version ? `-${licence.version}` : '';
  return {
    name: `item-${licence.itemId}${version}.csv`,
    type: 'text/csv; charset=utf-8',
    content: Readable.from(colours(licence.itemId)),
  };
}

function* colours(seed: number): Generator<string> {
  yield 'step,hue,hex\r\n';
  for (let step = 0; step < 4096; step++) {
    const hex = ((seed * 2_654_435_761 + step * 40_503) >>> 8).toString(16).padStart(6, '0');
    yield `${step},${(step * 360) >> 12},#${hex.slice(-6)}\r\n`;
  }
}
