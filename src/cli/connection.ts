import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type PeerCertificate, type TLSSocket } from 'node:tls';
import { inWords, noAnswer } from './probe.js';

/** Where to connect to. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** What a server showed of itself when it was connected to over TLS. */
export interface Certificate {
  /** Why this machine does not trust it, as OpenSSL calls it; `undefined` when it does. */
  readonly problem: string | undefined;
  readonly issuer: string;
  /** Epoch milliseconds. */
  readonly validFrom: number;
  readonly validTo: number;
  readonly names: string;
}

/** The address of a URL, with the protocol's own port where it names none. */
export function addressOf(url: URL, ports: Readonly<Record<string, number>>): Address {
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (ports[url.protocol] ?? 0),
    isTls: url.protocol === 'https:' || url.protocol === 'rediss:',
  };
}

const first = (value: string | string[] | undefined): string =>
  (Array.isArray(value) ? value[0] : value) ?? '';

function certificateOf(socket: TLSSocket): Certificate {
  const peer: PeerCertificate = socket.getPeerCertificate();
  // The types say Error, Node says the code.
  const problem: unknown = socket.authorizationError;
  return {
    problem: socket.authorized ? undefined : String(problem ?? 'UNKNOWN'),
    issuer: first(peer.issuer?.O) || first(peer.issuer?.CN) || 'an unnamed issuer',
    validFrom: Date.parse(peer.valid_from),
    validTo: Date.parse(peer.valid_to),
    names: peer.subjectaltname ?? first(peer.subject?.CN),
  };
}

/** A connection, and the certificate if it is one over TLS. An untrusted one is connected to all the same. */
export interface Connection {
  readonly socket: Socket;
  readonly certificate: Certificate | undefined;
}

/** Connects. Rejects with words that name the failure. */
export function openConnection(
  { host, port, isTls }: Address,
  timeout: number,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    // Untrusted certificates are looked at too: nothing is sent over a connection that is not trusted.
    const socket = isTls
      ? connectTls({
          host,
          port,
          ...(isIP(host) === 0 && { servername: host }),
          rejectUnauthorized: false,
        })
      : connectTcp({ host, port });
    const timer = setTimeout(() => fail(noAnswer(timeout)), timeout);
    const fail = (words: string): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(new Error(words));
    };
    socket.once('error', (error: NodeJS.ErrnoException) =>
      fail(isWrongProtocol(error) ? 'it does not speak TLS on this port' : inWords(error)),
    );
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      const certificate = isTls ? certificateOf(socket as TLSSocket) : undefined;
      resolve({ socket, certificate });
    });
  });
}

const isWrongProtocol = ({ code }: NodeJS.ErrnoException): boolean =>
  code === 'EPROTO' || (code?.startsWith('ERR_SSL_') ?? false);
