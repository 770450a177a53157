import { type IncomingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { type PeerCertificate, TLSSocket } from 'node:tls';
import { isLoopback } from '../http/client-options.js';
import { NetworkFailure } from '../http/failure.js';
import { CommandError } from './io.js';

/** `warning`: it works, but needs attention. `skipped`: it is not set up, or an earlier check failed. */
export type Status = 'ok' | 'warning' | 'wrong' | 'skipped';

/** Checks by name, in order. What makes the following ones pointless is thrown. */
export type Checks = Record<string, () => Finding | Promise<Finding>>;
export type Finding = readonly [Status, detail: string];

/** In milliseconds. A larger difference makes support dates and token lifetimes visibly wrong. */
const MAX_SKEW = 60_000;
const DAY = 86_400_000;
/** How long before its end a certificate should be renewed. Automatic renewal is usually earlier. */
const RENEWAL_PERIOD = 14 * DAY;

/** The codes of Node.js for a certificate that is not trusted. */
const UNTRUSTED = /^CERT_|SIGNED_CERT|UNABLE_TO_(GET|VERIFY)|ALTNAME/;

/** The head of a response, and the server's certificate. */
interface ResponseHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly certificate?: PeerCertificate | undefined;
  /** Why the certificate is not trusted. Nothing was sent then. */
  readonly certificateProblem?: string;
}

/**
 * Requests a page. Follows no redirect, and reads only the head, because a body can be endless.
 * @throws CommandError
 */
export const requestHead = (url: string, timeout: number): Promise<ResponseHead> =>
  new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeout);
    const request = url.startsWith('https:') ? requestHttps : requestHttp;
    const options = { signal, agent: false, rejectUnauthorized: true };
    const sent = request(url, options, (response) => {
      const { socket, statusCode: status = 0, headers } = response;
      const certificate = socket instanceof TLSSocket ? socket.getPeerCertificate() : undefined;
      response.destroy();
      resolve({ status, headers, certificate });
    });
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const { code = '' } = error;
      const { message } = new NetworkFailure(error);
      if (UNTRUSTED.test(code)) resolve({ status: 0, headers: {}, certificateProblem: message });
      else reject(new CommandError(signal.aborted ? noAnswer(timeout) : message));
    });
    sent.end();
  });

export const noAnswer = (timeout: number): string => `no answer within ${timeout} ms`;

/**
 * Checks the connection to a service: that it answers, https, the certificate, and the clock.
 * @param prefix goes before the names of the checks.
 */
export function connectionChecks(url: string, timeout: number, prefix = ''): Checks {
  let head: ResponseHead;
  return {
    [`${prefix}reachable`]: async () => {
      head = await requestHead(url, timeout).catch((error: Error) => {
        throw new CommandError(`${error.message}; check the address, the network and the firewall`);
      });
      return ['ok', head.status ? `answers (HTTP ${head.status})` : 'accepts connections'];
    },
    [`${prefix}https`]: () => {
      if (url.startsWith('https:')) return ['ok', 'requests are encrypted'];
      return isLoopback(new URL(url).hostname)
        ? ['skipped', 'plain http that stays on this machine']
        : ['warning', 'plain http: the secrets can be read on the way'];
    },
    [`${prefix}certificate`]: () => {
      const { certificate, certificateProblem } = head;
      const advice = 'NODE_EXTRA_CA_CERTS can name a file with more certificates to trust';
      if (certificateProblem) throw new CommandError(`${certificateProblem}; ${advice}`);
      if (!certificate) return ['skipped', 'there is none without https'];
      const validTo = Date.parse(certificate.valid_to);
      const issuer = certificate.issuer.O ?? certificate.issuer.CN;
      const left = validTo - Date.now();
      const day = new Date(validTo).toISOString().slice(0, 10);
      const until = `valid until ${day} (${Math.floor(left / DAY)} days), by ${issuer}`;
      if (left >= RENEWAL_PERIOD) return ['ok', until];
      return ['warning', `${until}; it must be renewed soon`];
    },
    [`${prefix}clock`]: () => {
      const skew = Date.parse(head.headers.date ?? '') - Date.now();
      if (Number.isNaN(skew)) return ['skipped', 'the service sends no Date header'];
      if (Math.abs(skew) < MAX_SKEW) return ['ok', 'agrees with the service'];
      const seconds = Math.round(Math.abs(skew) / 1000);
      const way = skew > 0 ? 'behind' : 'ahead of';
      return ['wrong', `this machine is ${seconds} s ${way} the service; set its clock`];
    },
  };
}
