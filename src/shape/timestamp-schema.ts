import { z } from 'zod';
import { parseTimestamp } from './timestamp.js';

/** An ISO 8601 timestamp that may be absent. */
export const timestamp = z
  .string()
  .refine((value) => parseTimestamp(value) !== undefined, 'expected a timestamp')
  .optional();
