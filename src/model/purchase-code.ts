declare const brand: unique symbol;

/** A purchase code as it is asked about: 4 to 128 visible ASCII characters. Only {@link readPurchaseCode} makes one. */
export type PurchaseCode = string & { readonly [brand]: true };

/** The longest text that is read, because NFKC takes time that is quadratic in combining marks. */
const MAX_PASTED = 512;
/** The specification shows no format. */
const FORMAT = /^[\x21-\x7e]{4,128}$/;
/** Blanks, line breaks, and what Unicode calls ignorable: zero-width characters, soft hyphens, variation selectors, … */
const NOTHING = /[\s\x85\p{Default_Ignorable_Code_Point}]/gu;
/** Any other character. */
const SEEN = /[^\s\x85\p{Default_Ignorable_Code_Point}]/u;
/** What word processors make of "-". */
const DASH = /[\u2010-\u2015\u2212]/g;

/**
 * Reads a purchase code as somebody has pasted it: compatibility forms (full-width letters, ligatures) become plain letters
 * (NFKC), and what a paste adds is removed. `undefined`: it cannot be a code.
 * @param pattern the option `codePattern`.
 */
export function readPurchaseCode(pasted: unknown, pattern?: RegExp): PurchaseCode | undefined {
  if (typeof pasted !== 'string' || pasted.length > MAX_PASTED) return undefined;
  // Most codes need no more than this.
  const code = FORMAT.test(pasted) ? pasted : plain(pasted);
  if (!FORMAT.test(code)) return undefined;
  // Unlike `test`, `search` always begins at the start, also with the flags g and y.
  return pattern === undefined || code.search(pattern) !== -1 ? (code as PurchaseCode) : undefined;
}

const plain = (pasted: string): string =>
  pasted.normalize('NFKC').replace(NOTHING, '').replace(DASH, '-');

/** Whether a text has nothing in it that can be seen. */
export const isBlank = (text: string): boolean => text.length <= MAX_PASTED && !SEEN.test(text);

/**
 * Requires that an app passes in a text that is not blank as a code.
 * @param what - it is, for the error, as in "KeyApi: purchase_code".
 * @throws TypeError
 */
export function requireText(what: string, code: unknown): asserts code is string {
  if (typeof code !== 'string' || isBlank(code)) {
    throw new TypeError(`${what} must be a string that is not blank`);
  }
}

/** Whether the code in an answer is masked, as in `****-1c2d`, and so names none. */
export const isMasked = (named: string): boolean => /[*\u2026]/.test(named);
