/** A purchase code, read once: 4 to 128 visible ASCII characters. */
export interface PurchaseCode {
  /** The code as the service is asked about it. */
  readonly text: string;
  /** The same for every letter case, because services can ignore that: what the code is cached and held under. */
  readonly key: string;
}

/** The longest text that is read, because NFKC takes time that is quadratic in combining marks. */
const MAX_PASTED = 512;
const MIN_LENGTH = 4;
const MAX_LENGTH = 128;
/** A code that a paste added nothing to, which most are. The specification shows no format. */
const PLAIN = /^[a-z\d][!-~]{2,126}[a-z\d]$/i;
const VISIBLE_ASCII = /^[!-~]*$/;
/** Blanks, line breaks, and what Unicode calls ignorable: zero-width characters, soft hyphens, variation selectors, … */
const INVISIBLE = /[\s\x85\p{Default_Ignorable_Code_Point}]/gu;
/** Any other character. */
const VISIBLE = /[^\s\x85\p{Default_Ignorable_Code_Point}]/u;
/** What word processors make of "-". */
const DASH = /[\u2010-\u2015\u2212]/g;
/** Quotes, brackets and full stops at the start or the end. */
const AROUND =
  /^[\p{Ps}\p{Pe}\p{Pi}\p{Pf}"'`<>.\u2032\u3002]+|[\p{Ps}\p{Pe}\p{Pi}\p{Pf}"'`<>.\u2032\u3002]+$/gu;

/**
 * Reads a purchase code as somebody has pasted it: compatibility forms (full-width letters, ligatures) become plain letters
 * (NFKC), and what a paste adds in or around it is removed. `undefined`: it cannot be a code.
 */
export function readPurchaseCode(pasted: string): PurchaseCode | undefined {
  const text = plain(pasted);
  if (text === undefined || text.length < MIN_LENGTH || text.length > MAX_LENGTH) return undefined;
  return VISIBLE_ASCII.test(text) ? { text, key: text.toLowerCase() } : undefined;
}

/** Why a text that cannot be read is no code. */
export function faultOfCode(pasted: string): 'too long' | 'too short' | 'other characters' {
  const text = plain(pasted);
  if (text === undefined || text.length > MAX_LENGTH) return 'too long';
  return text.length < MIN_LENGTH ? 'too short' : 'other characters';
}

/** `undefined`: it is too long to be looked at. */
function plain(pasted: string): string | undefined {
  if (pasted.length > MAX_PASTED) return undefined;
  if (PLAIN.test(pasted)) return pasted;
  return pasted.normalize('NFKC').replace(INVISIBLE, '').replace(DASH, '-').replace(AROUND, '');
}

/** Whether a text has nothing in it that can be seen. */
export const isBlank = (text: string): boolean => text.length <= MAX_PASTED && !VISIBLE.test(text);

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
