import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** One value in DER, in hex. From 128 bytes on, two bytes after a mark hold the length. */
function der(tag: string, ...parts: readonly string[]): string {
  const length = parts.join('').length / 2;
  const size = (length < 128 ? length : 0x820000 + length).toString(16).padStart(2, '0');
  return tag + size + parts.join('');
}

const hex = (text: string): string => Buffer.from(text).toString('hex');
const sequence = (...parts: readonly string[]): string => der('30', ...parts);

const ECDSA_SHA256 = sequence(der('06', '2a8648ce3d040302'));
const YES = der('01', 'ff');
const IS_AUTHORITY = sequence(der('06', '551d13'), YES, der('04', sequence(YES)));

const nameOf = (organisation: string): string =>
  sequence(der('31', sequence(der('06', '55040a'), der('0c', hex(organisation)))));

/** `YYMMDDHHMMSSZ`, so many days from now. */
const day = (days: number): string => {
  const at = new Date(Date.now() + days * 86_400_000).toISOString();
  return der('17', hex(at.replace(/^..|[-:T]|\.\d+/g, '')));
};

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

const identity = (key: KeyObject, cert: string) => ({
  key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
  cert,
});

/** What a server's certificate should be like. */
export interface Wanted {
  /** Days from now; default 200. */
  readonly days?: number;
  /** The address it is for, in hex; default 127.0.0.1. */
  readonly ip?: string;
}

/** A certificate authority of a test, which nobody trusts who is not told to. */
export class TestAuthority {
  readonly #key = newKey();
  /** Its own certificate. */
  readonly certificate = this.#certify('Test Authority', this.#key.publicKey, 400, IS_AUTHORITY);

  /** Key and certificate of a server. */
  issue({ days = 200, ip = '7f000001' }: Wanted = {}) {
    const { publicKey, privateKey } = newKey();
    const address = sequence(der('06', '551d11'), der('04', sequence(der('87', ip))));
    return identity(privateKey, this.#certify('Test Server', publicKey, days, address));
  }

  /** Key and certificate of a server that vouches for itself. */
  selfSigned() {
    return identity(this.#key.privateKey, this.certificate);
  }

  /** A certificate, X.509 version 3. */
  #certify(subject: string, publicKey: KeyObject, days: number, extension: string): string {
    const body = sequence(
      der('a0', der('02', '02')),
      der('02', `01${randomBytes(8).toString('hex')}`),
      ECDSA_SHA256,
      nameOf('Test Authority'),
      sequence(day(-400), day(days)),
      nameOf(subject),
      publicKey.export({ type: 'spki', format: 'der' }).toString('hex'),
      der('a3', sequence(extension)),
    );
    const signature = sign('sha256', Buffer.from(body, 'hex'), this.#key.privateKey);
    const signed = sequence(body, ECDSA_SHA256, der('03', '00', signature.toString('hex')));
    const lines = Buffer.from(signed, 'hex').toString('base64').replace(/.{64}/g, '$&\n');
    return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
  }
}
