import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { networkFailure } from '../http/failure.js';

export type Status = 'ok' | 'warning' | 'wrong' | 'skipped';

/**
 * Reports the result of one check. `warning`: it works, but needs attention. `skipped`: it is not set up, or
 * it cannot be checked because an earlier check failed.
 */
export type Report = (check: string, status: Status, detail: string) => void;

/** In milliseconds. A larger difference makes support dates and token lifetimes visibly wrong. */
const LARGEST_SKEW = 60_000;
const DAY = 86_400_000;
/** How long before its end a certificate should be renewed. Automatic renewal is usually earlier. */
const RENEWAL_PERIOD = 14 * DAY;

const CHECKS = ['reachable', 'https', 'certificate', 'clock'] as const;

/**
 * Checks the connection to a service: that it answers, https, the certificate, and the clock.
 * @param prefix goes before the names of the checks.
 * @returns whether the service can be asked anything.
 */
export async function checkConnection(
  url: string,
  timeout: number,
  report: Report,
  prefix = '',
): Promise<boolean> {
  const say: Report = (check, status, detail) => report(`${prefix}${check}`, status, detail);
  const skip = (from: (typeof CHECKS)[number]): false => {
    for (const check of CHECKS.slice(CHECKS.indexOf(from))) say(check, 'skipped', 'see above');
    return false;
  };
  let certificate: Certificate | undefined;
  try {
    certificate = await certificateOf(new URL(url), timeout);
  } catch (error) {
    const advice = 'check the address, the network and the firewall';
    say('reachable', 'wrong', `${(error as Error).message}; ${advice}`);
    return skip('https');
  }
  // Sends nothing to a server whose certificate is not trusted, as the clients do.
  const isTrusted = certificate?.problem === undefined;
  const answer = isTrusted ? await probe(url, timeout).catch((error: Error) => error) : undefined;
  if (answer instanceof Error) {
    say('reachable', 'wrong', `accepts connections, but: ${answer.message}`);
  } else {
    say('reachable', 'ok', answer ? `answers (HTTP ${answer.status})` : 'accepts connections');
  }
  if (url.startsWith('https:')) say('https', 'ok', 'requests are encrypted');
  else if (/^http:\/\/(localhost|[\w-.]+\.localhost|127\.|\[::1\])/i.test(url)) {
    say('https', 'skipped', 'plain http that stays on this machine');
  } else say('https', 'warning', 'plain http: the secrets can be read on the way');
  checkCertificate(certificate, say);
  if (answer === undefined || answer instanceof Error) return skip('clock');
  checkClock(answer.skew, say);
  return true;
}

/** What a server's certificate says. */
interface Certificate {
  /** OpenSSL's code for why this machine does not trust it. */
  readonly problem: string | undefined;
  readonly issuer: string;
  /** Epoch milliseconds. */
  readonly validFrom: number;
  readonly validTo: number;
  readonly names: string;
}

/**
 * Connects, and reads the certificate of an https server, even an untrusted one. Sends no request. Rejects
 * with an error whose message contains no part of the address.
 */
function certificateOf(url: URL, timeout: number): Promise<Certificate | undefined> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isTls = url.protocol === 'https:';
  const port = Number(url.port) || (isTls ? 443 : 80);
  return new Promise((resolve, reject) => {
    const socket = isTls
      ? connectTls({
          host,
          port,
          ...(isIP(host) === 0 && { servername: host }),
          rejectUnauthorized: false,
        })
      : connectTcp({ host, port });
    const fail = (problem: string): void => {
      socket.destroy();
      reject(new Error(problem));
    };
    socket.setTimeout(timeout, () => fail(noAnswer(timeout)));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      const isPlain = error.code === 'EPROTO' || error.code?.startsWith('ERR_SSL_');
      fail(isPlain ? 'it does not speak TLS on this port' : describeNetworkFailure(error));
    });
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      resolve(isTls ? read(socket as TLSSocket) : undefined);
      socket.destroy();
    });
  });

  function read(socket: TLSSocket): Certificate {
    const peer = socket.getPeerCertificate();
    // The types say Error, but Node.js gives the code.
    const problem: unknown = socket.authorizationError;
    return {
      problem: socket.authorized ? undefined : String(problem ?? 'UNKNOWN'),
      issuer: String(peer.issuer?.O ?? peer.issuer?.CN ?? 'an unnamed issuer'),
      validFrom: Date.parse(peer.valid_from),
      validTo: Date.parse(peer.valid_to),
      names: peer.subjectaltname ?? String(peer.subject?.CN ?? ''),
    };
  }
}

function checkCertificate(certificate: Certificate | undefined, say: Report): void {
  if (certificate === undefined) {
    say('certificate', 'skipped', 'there is none without https');
  } else if (certificate.problem !== undefined) {
    say('certificate', 'wrong', distrust(certificate));
  } else {
    const left = certificate.validTo - Date.now();
    const until = `valid until ${day(certificate.validTo)} (${days(left)}), by ${certificate.issuer}`;
    if (left < RENEWAL_PERIOD) say('certificate', 'warning', `${until}; it must be renewed soon`);
    else say('certificate', 'ok', until);
  }
}

/** Why a certificate is not trusted, and what to do. */
function distrust({ problem, validFrom, validTo, names, issuer }: Certificate): string {
  switch (problem) {
    case 'CERT_HAS_EXPIRED':
      return `expired on ${day(validTo)}, ${days(Date.now() - validTo)} ago; its owner must renew it`;
    case 'CERT_NOT_YET_VALID':
      return `valid only from ${day(validFrom)}; check this machine's clock`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `for another host (${names || 'it names none'}); check the address`;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
      return 'self-signed; NODE_EXTRA_CA_CERTS can name a file with the certificates to trust';
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `by ${issuer}, which is not known here, or its chain is incomplete; NODE_EXTRA_CA_CERTS can name a file with more to trust`;
    default:
      return `not trusted (${problem})`;
  }
}

const day = (ms: number): string =>
  Number.isNaN(ms) ? 'an unknown day' : new Date(ms).toISOString().slice(0, 10);

function days(ms: number): string {
  const whole = Math.floor(Math.abs(ms) / DAY);
  return `${whole} ${whole === 1 ? 'day' : 'days'}`;
}

function checkClock(skew: number | undefined, say: Report): void {
  if (skew === undefined) {
    say('clock', 'skipped', 'the service sends no Date header');
  } else if (Math.abs(skew) < LARGEST_SKEW) {
    say('clock', 'ok', 'agrees with the service');
  } else {
    const seconds = Math.round(Math.abs(skew) / 1000);
    const way = skew > 0 ? 'behind' : 'ahead of';
    say('clock', 'wrong', `this machine is ${seconds} s ${way} the service; set its clock`);
  }
}

/** The head of a response. */
export interface Probe {
  readonly status: number;
  readonly header: (name: string) => string;
  /** Milliseconds that the server's clock is ahead of this machine's; `undefined` without a `Date` header. */
  readonly skew: number | undefined;
}

/**
 * Requests a page. Follows no redirect, and reads only the head, because a body can be endless. Rejects with
 * an error whose message contains no part of the address.
 */
export async function probe(url: string, timeout: number): Promise<Probe> {
  const { request } = await import('undici');
  const signal = AbortSignal.timeout(timeout);
  try {
    const { statusCode, headers, body } = await request(url, { signal });
    body.on('error', () => undefined).destroy();
    const date = Date.parse(String(headers.date));
    return {
      status: statusCode,
      header: (name) => String(headers[name] ?? ''),
      skew: Number.isNaN(date) ? undefined : date - Date.now(),
    };
  } catch (error) {
    throw new Error(signal.aborted ? noAnswer(timeout) : describeNetworkFailure(error));
  }
}

export const noAnswer = (timeout: number): string => `no answer within ${timeout} ms`;

/** Describes a network failure without its message, which can contain the address and so a secret. */
export function describeNetworkFailure(error: unknown): string {
  const { cause } = networkFailure('', error);
  return cause instanceof Error ? cause.message : 'no connection';
}
