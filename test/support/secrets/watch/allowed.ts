import type { Finding } from './sweep.js';

/** Something that may get out, and why. */
interface Allowed {
  readonly why: string;
  readonly is: (finding: Finding, file: string) => boolean;
}

const only = ({ kinds }: Finding, kind: string): boolean =>
  kinds.size === 1 && [...kinds][0] === kind;

/** All that a secret may be seen in. Whatever is not in here fails the test that it happened in. */
export const ALLOWED: readonly Allowed[] = [
  {
    why: 'a visitor who is let in gets his own code back: handlers answer req.marketplace.purchase',
    is: (finding) =>
      finding.exit === 'answer' &&
      (finding.status ?? 500) < 300 &&
      only(finding, 'purchase_code') &&
      (finding.request ?? '').toLowerCase().includes(finding.secret.toLowerCase()),
  },
  {
    why: 'RedisTokenStore keeps tokens in clear, as documented; EncryptedTokenStore is there for that',
    is: (finding) =>
      finding.exit === 'redis' &&
      only(finding, 'access_token') &&
      /^\{"v":1,"user":/.test(finding.text),
  },
  {
    why: 'a form of an example shows its visitor what he typed, in the field that he typed it into',
    is: (finding, file) => {
      const [text, secret, request = ''] = [finding.text, finding.secret, finding.request].map(
        (each) => each?.toLowerCase(),
      ) as [string, string, string?];
      return (
        finding.exit === 'answer' &&
        /[\\/]test[\\/]system[\\/]examples[\\/]/.test(file) &&
        only(finding, 'purchase_code') &&
        request.includes(secret) &&
        !text.replaceAll(`value="${secret}"`, '').includes(secret)
      );
    },
  },
  {
    why: 'the pages of the browser tests show the address they were opened with, and link to callbacks',
    is: (finding, file) =>
      finding.exit === 'answer' &&
      /[\\/]test[\\/]system[\\/]browser[\\/]login\.test\.ts$/.test(file) &&
      only(finding, 'auth_key') &&
      !finding.text
        .replaceAll(new RegExp(`(\\?|%3F)auth_key(=|%3D)${finding.secret}`, 'g'), '')
        .includes(finding.secret),
  },
];

export const isAllowed = (finding: Finding, file: string): boolean =>
  ALLOWED.some(({ is }) => is(finding, file));
