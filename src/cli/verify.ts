import { KeyApi } from '../clients/key-api.js';
import { isMarketgateError } from '../errors.js';
import { isSupported } from '../express/purchase-conditions.js';
import { wasUnreadable } from '../model/fields.js';
import type { Purchase } from '../model/purchase.js';
import { type Settings, UsageError, VARIABLES } from './settings.js';
import { colorsOf, during, printable, type Terminal, table } from './terminal.js';

/** Exit codes of `marketgate verify`. */
const VALID = 0;
const INVALID = 1;
const UNKNOWN = 2;

/**
 * `marketgate verify CODE`: what the service says of a purchase code.
 * @returns 0: valid; 1: the service says it is not; 2: that could not be found out.
 */
export async function verify(
  code: string,
  settings: Settings,
  { json }: { json: boolean },
  terminal: Terminal,
): Promise<number> {
  const { baseUrl, apiKey, allowInsecure, timeout } = settings;
  if (baseUrl === undefined || apiKey === undefined) {
    throw new UsageError(
      `verify needs ${VARIABLES.baseUrl} and ${VARIABLES.apiKey}, or their file with --env-file`,
    );
  }
  if (code.trim() === '') throw new UsageError('verify needs a purchase code that is not blank');
  const keyApi = new KeyApi({ baseUrl, apiKey, allowInsecure, timeout, cache: false });
  try {
    const ask = () => keyApi.validatePurchase(code);
    const purchase = json ? await ask() : await during(terminal, 'Asking the service', ask);
    if (json)
      terminal.out(JSON.stringify({ valid: purchase !== null, ...shown(purchase) }, null, 2));
    else terminal.out(purchase === null ? refusal(terminal) : facts(purchase, terminal));
    return purchase === null ? INVALID : VALID;
  } catch (error) {
    if (!isMarketgateError(error)) throw error;
    if (json) terminal.out(JSON.stringify({ valid: null, error: error.toJSON() }, null, 2));
    else terminal.err(`Could not find out (${error.code}): ${error.message}`);
    return UNKNOWN;
  } finally {
    await keyApi.close();
  }
}

/** Without the code: output is kept in logs, and who asked has it. */
function shown(purchase: Purchase | null): { purchase: Omit<Purchase, 'purchase_code'> | null } {
  if (purchase === null) return { purchase };
  const { purchase_code: _, ...facts } = purchase;
  return { purchase: facts };
}

const refusal = (terminal: Terminal): string =>
  `${colorsOf(terminal).red('Not valid.')} The service does not know this code, or the purchase was refunded, or it is another author's.`;

function facts(purchase: Purchase, terminal: Terminal): string {
  const colors = colorsOf(terminal);
  const { item, license_type, price, currency, date, supported_until, downloaded } = purchase;
  const support = isSupported(purchase, Date.now())
    ? `until ${supported_until}`
    : supported_until === undefined
      ? wasUnreadable(purchase, 'supported_until')
        ? 'could not be read'
        : 'none'
      : `over since ${supported_until}`;
  const rows = [
    ['item', `${item.id}${item.name ? ` ${item.name}` : ''}`],
    ['license_type', license_type],
    ['price', price === undefined ? undefined : `${price} ${currency ?? ''}`],
    ['date', date],
    ['support', support],
    ['downloaded', downloaded === undefined ? undefined : downloaded ? 'yes' : 'no'],
  ].flatMap(([name = '', value]) => (value === undefined ? [] : [[name, printable(value)]]));
  return `${colors.green('Valid.')}\n${table(rows)}`;
}
