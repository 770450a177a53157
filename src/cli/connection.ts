import { type IncomingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { TLSSocket } from 'node:tls';
import { networkFailure } from '../http/failure.js';

/** `warning`: it works, but needs attention. `skipped`: it is not set up, or an earlier check failed. */
export type Status = 'ok' | 'warning' | 'wrong' | 'skipped';

/** Checks by name, in order. What makes the following ones pointless is thrown. */
export type Checks = Record<string, () => Finding | Promise<Finding>>;
export type Finding = readonly [Status, detail: string];

/** A check failed. The message holds no secret and no part of an address. */
export class Problem extends Error {
  override readonly name = 'Problem';
}

/** In milliseconds. A larger difference makes support dates and token lifetimes visibly wrong. */
const LARGEST_SKEW = 60_000;
const DAY = 86_400_000;
/** How long before its end a certificate should be renewed. Automatic renewal is usually earlier. */
const RENEWAL_PERIOD = 14 * DAY;

const EXTRA = 'NODE_EXTRA_CA_CERTS can name a file with the certificates to trust';
const SELF_SIGNED = `self-signed; ${EXTRA}`;
const UNKNOWN_ISSUER = `by an issuer that is not known here, or its chain is incomplete; ${EXTRA}`;

/** Why a certificate is not trusted, and what to do, by OpenSSL's code. */
const DISTRUST: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'expired; its owner must renew it',
  CERT_NOT_YET_VALID: "not valid yet; check this machine's clock",
  ERR_TLS_CERT_ALTNAME_INVALID: 'for another host; check the address',
  DEPTH_ZERO_SELF_SIGNED_CERT: SELF_SIGNED,
  SELF_SIGNED_CERT_IN_CHAIN: SELF_SIGNED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_ISSUER,
};

/** The head of a response, and what the server's certificate says. */
interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly validTo: number;
  readonly issuer: string;
}

/**
 * Requests a page. Follows no redirect, and reads only the head, because a body can be endless. Nothing is sent
 * to a server whose certificate is not trusted; then the answer is the reason.
 *
 * @throws Problem
 */
export const ask = (url: string, timeout: number): Promise<Answer | string> =>
  new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeout);
    const request = url.startsWith('https:') ? requestHttps : requestHttp;
    const options = { signal, agent: false, rejectUnauthorized: true };
    const asked = request(url, options, (response) => {
      const { socket, statusCode: status = 0, headers } = response;
      const peer = socket instanceof TLSSocket ? socket.getPeerCertificate() : undefined;
      const issuer = String(peer?.issuer?.O ?? peer?.issuer?.CN ?? 'an unnamed issuer');
      response.destroy();
      resolve({ status, headers, validTo: Date.parse(peer?.valid_to ?? ''), issuer });
    });
    asked.on('error', (error: NodeJS.ErrnoException) => {
      const { code = '' } = error;
      const distrust = DISTRUST[code];
      if (distrust !== undefined) return resolve(distrust);
      const isPlain = code === 'EPROTO' || code.startsWith('ERR_SSL_');
      const failure = isPlain
        ? 'it does not speak TLS on this port'
        : describeNetworkFailure(error);
      reject(new Problem(signal.aborted ? noAnswer(timeout) : failure));
    });
    asked.end();
  });

export const noAnswer = (timeout: number): string => `no answer within ${timeout} ms`;

/** Describes a network failure without its message, which can contain the address and so a secret. */
export function describeNetworkFailure(error: unknown): string {
  const { cause } = networkFailure('', error);
  return cause instanceof Error ? cause.message : 'no connection';
}

/**
 * Checks the connection to a service: that it answers, https, the certificate, and the clock.
 * @param prefix goes before the names of the checks.
 */
export function connectionChecks(url: string, timeout: number, prefix = ''): Checks {
  let answer: Answer | string = '';
  return {
    [`${prefix}reachable`]: async () => {
      answer = await ask(url, timeout).catch((error: Error) => {
        throw new Problem(`${error.message}; check the address, the network and the firewall`);
      });
      if (typeof answer === 'string') return ['ok', 'accepts connections'];
      return ['ok', `answers (HTTP ${answer.status})`];
    },
    [`${prefix}https`]: () => {
      if (url.startsWith('https:')) return ['ok', 'requests are encrypted'];
      return /^http:\/\/(localhost|[\w-.]+\.localhost|127\.|\[::1\])/i.test(url)
        ? ['skipped', 'plain http that stays on this machine']
        : ['warning', 'plain http: the secrets can be read on the way'];
    },
    [`${prefix}certificate`]: () => {
      if (typeof answer === 'string') throw new Problem(answer);
      const { validTo, issuer } = answer;
      if (Number.isNaN(validTo)) return ['skipped', 'there is none without https'];
      const left = validTo - Date.now();
      const day = new Date(validTo).toISOString().slice(0, 10);
      const until = `valid until ${day} (${Math.floor(left / DAY)} days), by ${issuer}`;
      if (left >= RENEWAL_PERIOD) return ['ok', until];
      return ['warning', `${until}; it must be renewed soon`];
    },
    [`${prefix}clock`]: () => {
      const date = typeof answer === 'string' ? undefined : answer.headers.date;
      const skew = Date.parse(date ?? '') - Date.now();
      if (Number.isNaN(skew)) return ['skipped', 'the service sends no Date header'];
      if (Math.abs(skew) < LARGEST_SKEW) return ['ok', 'agrees with the service'];
      const seconds = Math.round(Math.abs(skew) / 1000);
      const way = skew > 0 ? 'behind' : 'ahead of';
      return ['wrong', `this machine is ${seconds} s ${way} the service; set its clock`];
    },
  };
}
