import { SANDBOX_HEADER } from '../sandbox/console/sandbox-header.js';
import type { Settings } from './settings.js';

/** The detail of a check that found a sandbox where customers are served. */
export const SANDBOX_IN_PRODUCTION =
  'this is a marketgate sandbox, and NODE_ENV is production: its keys and codes are public, and it lets anybody in; set the address of the real service';

/** Whether this is production, and the address is that of a sandbox. */
export async function isSandboxInProduction(
  url: string,
  { isProduction, timeout }: Settings,
): Promise<boolean> {
  if (!isProduction) return false;
  const { request } = await import('undici');
  const signal = AbortSignal.timeout(timeout);
  try {
    const address = `${url.replace(/\/+$/, '')}/sandbox/console`;
    const { headers, body } = await request(address, { method: 'HEAD', signal });
    body.on('error', () => undefined).destroy();
    return headers[SANDBOX_HEADER] !== undefined;
  } catch {
    // The checks that follow say what is wrong with the address.
    return false;
  }
}
