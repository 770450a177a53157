import { lazily } from '../shape/lazily.js';
import type { Reading } from './reading.js';

/** What reads the payloads of interface A. */
export type Readers = typeof import('./readers.js');

/** Loaded with the first call, for it brings zod along: that is most of what importing the package would cost. */
export const loadReaders = lazily<Readers>(() => import('./readers.js'));

/** What judging an answer needs beside the answer. */
export interface Judging extends Reading {
  readonly readers: Readers;
}
