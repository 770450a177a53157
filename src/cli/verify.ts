import { isSupported } from '../check/purchase-check.js';
import { KeyApi } from '../clients/key-api.js';
import { isMarketgateError } from '../errors.js';
import { wasUnreadable } from '../model/fields.js';
import { normalizePurchaseCode, PURCHASE_CODE, type Purchase } from '../model/purchase.js';
import { colorsOf, type Io, printable, table, UsageError } from './io.js';
import { missingSettings, type Settings } from './settings.js';

const VALID = 0;
const INVALID = 1;
const UNKNOWN = 2;

/**
 * `marketgate verify CODE`: asks the service about a purchase code. `-` reads the code from stdin, which
 * other users of the machine cannot see.
 * @returns the exit code. 0: valid; 1: not valid; 2: unknown.
 */
export async function verify(
  given: string,
  settings: Settings,
  json: boolean,
  io: Io,
): Promise<number> {
  const missing = missingSettings(settings, 'baseUrl', 'apiKey');
  const { baseUrl = '', apiKey = '', allowInsecure, timeout } = settings;
  if (missing !== undefined) throw new UsageError(`verify: ${missing}`);
  const code = normalizePurchaseCode(given === '-' ? await io.read() : given);
  if (!PURCHASE_CODE.test(code)) {
    throw new UsageError(
      'verify: this cannot be a purchase code: a code has 8 to 128 letters, digits and dashes',
    );
  }
  const keyApi = new KeyApi({ baseUrl, apiKey, allowInsecure, timeout, cache: false });
  try {
    const purchase = await keyApi.validatePurchase(code);
    if (json) {
      const shown = { valid: purchase !== null, purchase: purchase && withoutCode(purchase) };
      io.out(JSON.stringify(shown, null, 2));
    } else {
      io.out(purchase === null ? refusal(io) : facts(purchase, io));
    }
    return purchase === null ? INVALID : VALID;
  } catch (error) {
    if (!isMarketgateError(error)) throw error;
    if (json) io.out(JSON.stringify({ valid: null, error: error.toJSON() }, null, 2));
    else io.err(`Could not find out (${error.code}): ${error.message}`);
    return UNKNOWN;
  } finally {
    await keyApi.close();
  }
}

/** Leaves out the code, because output is often logged. */
function withoutCode({ purchase_code: _, ...rest }: Purchase): Omit<Purchase, 'purchase_code'> {
  return rest;
}

const refusal = (io: Io): string =>
  `${colorsOf(io).red('Not valid.')} The service does not know this code, or the purchase was refunded, or the code belongs to another author.`;

function facts(purchase: Purchase, io: Io): string {
  const { item, license_type, price, currency, date, downloaded } = purchase;
  const rows = [
    ['item', `${item.id}${item.name ? ` ${item.name}` : ''}`],
    ['license_type', license_type],
    ['price', price === undefined ? undefined : `${price} ${currency ?? ''}`],
    ['date', date],
    ['support', supportOf(purchase)],
    ['downloaded', downloaded === undefined ? undefined : downloaded ? 'yes' : 'no'],
  ].flatMap(([name = '', value]) => (value === undefined ? [] : [[name, printable(value)]]));
  return `${colorsOf(io).green('Valid.')}\n${table(rows)}`;
}

function supportOf(purchase: Purchase): string {
  const { supported_until } = purchase;
  if (isSupported(purchase, Date.now())) return `until ${supported_until}`;
  if (supported_until !== undefined) return `ended ${supported_until}`;
  return wasUnreadable(purchase, 'supported_until') ? 'could not be read' : 'none';
}
