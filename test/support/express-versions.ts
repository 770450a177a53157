import express5 from 'express';
import express4 from 'express4';

/** Express 5 and 4, to run a suite over both: `describe.each(expressVersions)('%s', (_name, express) => …)`. */
export const expressVersions: [name: string, express: typeof express5][] = [
  ['Express 5', express5],
  ['Express 4', express4],
];
