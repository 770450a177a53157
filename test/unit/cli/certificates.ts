import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** One value in DER: tag, length, content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  // From 128 bytes on, two bytes after a mark hold the length.
  const size = length < 128 ? [length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const octets = (content: Buffer): Buffer => der(0x04, content);
const bits = (content: Buffer): Buffer => der(0x03, Buffer.from([0]), content);
const yes = der(0x01, Buffer.from([0xff]));

const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'));

const nameOf = (organisation: string): Buffer =>
  sequence(der(0x31, sequence(oid('55040a'), der(0x0c, Buffer.from(organisation)))));

/** `YYMMDDHHMMSSZ` */
const time = (ms: number): Buffer =>
  der(0x17, Buffer.from(new Date(ms).toISOString().replace(/^..|[-:T]|\.\d+/g, '')));

const extension = (id: string, value: Buffer, ...critical: Buffer[]): Buffer =>
  sequence(oid(id), ...critical, octets(value));

const pem = (certificate: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;

interface Kind {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
  readonly from: number;
  readonly to: number;
  readonly extensions: Buffer;
}

/** A certificate, X.509 version 3. */
function certificate({ subject, issuer, publicKey, signer, from, to, extensions }: Kind): string {
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)]);
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ECDSA_SHA256,
    nameOf(issuer),
    sequence(time(from), time(to)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extensions)),
  );
  return pem(sequence(body, ECDSA_SHA256, bits(sign('sha256', body, signer))));
}

const DAY = 86_400_000;
const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** What a server's certificate should be like. */
export interface Wanted {
  /** Days from now; default 200. */
  readonly days?: number;
  /** The address it is for; default 127.0.0.1. */
  readonly ip?: readonly [number, number, number, number];
}

/** A certificate authority of a test, which nobody trusts who is not told to. */
export class TestAuthority {
  readonly #key = newKey();
  /** Its own certificate. */
  readonly certificate = certificate({
    subject: 'Test Authority',
    issuer: 'Test Authority',
    publicKey: this.#key.publicKey,
    signer: this.#key.privateKey,
    from: Date.now() - 400 * DAY,
    to: Date.now() + 400 * DAY,
    extensions: extension('551d13', sequence(yes), yes),
  });

  /** Key and certificate of a server. */
  issue({ days = 200, ip = [127, 0, 0, 1] }: Wanted = {}): { key: string; cert: string } {
    const { publicKey, privateKey } = newKey();
    return {
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      cert: certificate({
        subject: 'Test Server',
        issuer: 'Test Authority',
        publicKey,
        signer: this.#key.privateKey,
        from: Date.now() - 300 * DAY,
        to: Date.now() + days * DAY,
        extensions: extension('551d11', sequence(der(0x87, Buffer.from(ip)))),
      }),
    };
  }

  /** Key and certificate of a server that vouches for itself. */
  selfSigned(): { key: string; cert: string } {
    return {
      key: this.#key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      cert: this.certificate,
    };
  }
}
