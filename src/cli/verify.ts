import { styleText } from 'node:util';
import { endOfSupport } from '../check/purchase-check.js';
import { KeyApi } from '../clients/key-api.js';
import { isMarketgateError } from '../errors.js';
import type { Purchase } from '../model/purchase.js';
import { readPurchaseCode } from '../model/purchase-code.js';
import { CommandError, type Io, printable, printableJson, table } from './io.js';
import { inVariables, required, type Settings } from './settings.js';

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
  const { allowInsecure, timeout } = settings;
  const { baseUrl, apiKey } = required(settings, 'baseUrl', 'apiKey');
  const pasted = given === '-' ? await io.read() : given;
  if (pasted.split(/[\r\n]/).filter((line) => line.trim()).length > 1) {
    throw new CommandError('verify: give one code at a time; there are several lines');
  }
  const code = readPurchaseCode(pasted);
  if (code === undefined) {
    throw new CommandError(
      'verify: this cannot be a purchase code: a code has 4 to 128 letters of A to Z, digits and signs',
    );
  }
  const keyApi = new KeyApi({ baseUrl, apiKey, allowInsecure, timeout, cache: false });
  try {
    const purchase = await keyApi.validatePurchase(code.text);
    // Without the code, because output is often logged.
    const shown = purchase && { ...purchase, purchase_code: undefined };
    if (json) io.out(printableJson({ valid: purchase !== null, purchase: shown }));
    else
      io.out(purchase === null ? `${styleText('red', 'Not valid.')} ${REFUSED}` : facts(purchase));
    return purchase === null ? 1 : 0;
  } catch (error) {
    if (!isMarketgateError(error)) throw error;
    const message = inVariables(error.message);
    if (json) io.out(printableJson({ valid: null, error: { ...error.toJSON(), message } }));
    else io.err(`Could not find out (${error.code}): ${printable(message)}`);
    return 2;
  } finally {
    await keyApi.close();
  }
}

const REFUSED =
  'The service does not know this code, or the purchase was refunded, or the code belongs to another author.';

function facts(purchase: Purchase): string {
  const { item, price, currency, license_type, date, downloaded, supported_until } = purchase;
  const end = endOfSupport(purchase);
  const hasEnded = supported_until !== undefined && end !== undefined && end <= Date.now();
  const rows = Object.entries({
    item: `${item.id} ${item.name ?? ''}`,
    license_type,
    price: price === undefined ? undefined : `${price} ${currency ?? ''}`,
    date,
    supported_until: `${supported_until ?? 'none'}${hasEnded ? ' (over)' : ''}`,
    downloaded,
  }).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return `${styleText('green', 'Valid.')}\n${table(rows)}`;
}
