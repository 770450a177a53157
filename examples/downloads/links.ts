import { createHmac, timingSafeEqual } from 'node:crypto';

/** How long a link works, in milliseconds: long enough to start a download, too short to pass on. */
const LIFETIME = 60_000;

const sign = (secret: string, id: string, expires: string): Buffer =>
  createHmac('sha256', secret).update(`download link ${id} ${expires}`).digest();

/** A link to a file that works for a minute without a login, for download managers and `curl`. */
export function signedLink(secret: string, id: string, now: number): string {
  const expires = String(now + LIFETIME);
  const signature = sign(secret, id, expires).toString('base64url');
  return `/files/${id}?${new URLSearchParams({ expires, signature })}`;
}

export function checkLink(
  secret: string,
  id: string,
  { expires, signature }: Readonly<Record<string, unknown>>,
  now: number,
): 'valid' | 'expired' | 'forged' {
  if (typeof expires !== 'string' || typeof signature !== 'string') return 'forged';
  const expected = sign(secret, id, expires);
  const given = Buffer.from(signature, 'base64url');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'forged';
  return now < Number(expires) ? 'valid' : 'expired';
}
