import { type IncomingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { type PeerCertificate, TLSSocket } from 'node:tls';
import { NetworkFailure } from '../http/failure.js';
import { CommandError } from './io.js';

/** The codes of Node.js for a certificate that is not trusted. */
const UNTRUSTED = /^CERT_|SIGNED_CERT|UNABLE_TO_(GET|VERIFY)|ALTNAME/;

/** The server's certificate is not trusted. Nothing was sent. */
export class UntrustedCertificate extends CommandError {}

/** The head of a response, and the server's certificate. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly certificate?: PeerCertificate | undefined;
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
      const { message } = new NetworkFailure(error);
      const Problem = UNTRUSTED.test(error.code ?? '') ? UntrustedCertificate : CommandError;
      reject(new Problem(signal.aborted ? noAnswer(timeout) : message));
    });
    sent.end();
  });

export const noAnswer = (timeout: number): string => `no answer within ${timeout} ms`;
