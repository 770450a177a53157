/** Zero-width characters, soft hyphen, joiners, marks of direction, byte order mark: all of \p{Cf}. */
const INVISIBLE = /\p{Cf}/gu;
const SHAPE = /^[A-Za-z0-9-]{8,128}$/;

/**
 * A purchase code as it was pasted, made into what the service knows: compatibility forms (full-width
 * letters, ligatures) become plain ones (NFKC), invisible characters go, and blanks around it.
 */
export function normalizePurchaseCode(pasted: string): string {
  // Most need nothing.
  if (SHAPE.test(pasted)) return pasted;
  return pasted.normalize('NFKC').replace(INVISIBLE, '').trim();
}

/** Whether a normalised code can be one at all: 8 to 128 letters, digits and dashes. */
export const hasPurchaseCodeShape = (code: string): boolean => SHAPE.test(code);

/**
 * What all spellings of one code have in common: services may ignore letter case, so that hundreds of
 * spellings are one purchase.
 */
export const canonicalCode = (code: string): string => code.toLowerCase();
