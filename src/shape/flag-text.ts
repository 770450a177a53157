import { z } from 'zod';

/** A flag that is documented as text, "1" or "0": the only text that a boolean is read as. */
export const flagText = z.string();
