import type { Secrets } from './secrets.js';

/** How long a link works, in milliseconds: long enough to begin a download, too short to be passed on. */
const LIFETIME = 60_000;

/**
 * A link to a file that works for a minute and without a login, so that download managers and `curl`
 * can follow it. The signature covers the licence and the time: neither can be changed.
 */
export function signedLink(secrets: Secrets, licenceId: string, now: number): string {
  const expires = String(now + LIFETIME);
  const signature = secrets.sign(`${licenceId} ${expires}`);
  return `/files/${licenceId}?${new URLSearchParams({ expires, signature })}`;
}

/** What a link is worth. An altered one and an old one are told apart only if the signature is right. */
export function judgeLink(
  secrets: Secrets,
  licenceId: string,
  query: Readonly<Record<string, unknown>>,
  now: number,
): 'good' | 'expired' | 'forged' {
  const { expires, signature } = query;
  if (typeof expires !== 'string' || typeof signature !== 'string') return 'forged';
  if (!secrets.isSigned(`${licenceId} ${expires}`, signature)) return 'forged';
  return now < Number(expires) ? 'good' : 'expired';
}
