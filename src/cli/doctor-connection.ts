import { addressOf, type Certificate, openConnection } from './connection.js';
import type { Report } from './finding.js';
import { probe } from './probe.js';

/** More than this, and support dates and token lives are off by something that is noticed. */
const LARGEST_SKEW = 60_000;
const DAY = 86_400_000;
/** Who renews by machine has done it by then; who does it by hand should start. */
const SOON = 14 * DAY;

const CHECKS = ['reachable', 'https', 'certificate', 'clock'] as const;

/**
 * The way to one service: the connection, https, the certificate, and whether the two clocks agree.
 * @param prefix - Put before the names of the checks, where a second service is looked at.
 * @returns Whether it makes sense to ask that service anything.
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
  const address = addressOf(new URL(url), { 'http:': 80, 'https:': 443 });
  let certificate: Certificate | undefined;
  try {
    const connection = await openConnection(address, timeout);
    connection.socket.destroy();
    certificate = connection.certificate;
  } catch (error) {
    const advice = 'check the address, the network and the firewall';
    say('reachable', 'wrong', `${(error as Error).message}; ${advice}`);
    return skip('https');
  }
  // A certificate that is not trusted: nothing more is sent there, as the clients would not either.
  const answer =
    certificate?.problem === undefined
      ? await probe(url, timeout).catch((error: Error) => error)
      : undefined;
  if (answer instanceof Error) {
    say('reachable', 'wrong', `accepts connections, but: ${answer.message}`);
  } else {
    const status = answer ? `answers (HTTP ${answer.status})` : 'accepts connections';
    say('reachable', 'ok', status);
  }
  checkHttps(url, say);
  if (!checkCertificate(certificate, say) || answer === undefined) return skip('clock');
  if (answer instanceof Error) return skip('clock');
  checkClock(answer.skew, say);
  return true;
}

function checkHttps(url: string, say: Report): void {
  if (url.startsWith('https:')) say('https', 'ok', 'what is sent there is encrypted');
  // The clients have refused plain http to other machines before, unless they were told otherwise.
  else if (/^http:\/\/(localhost|[\w-.]+\.localhost|127\.|\[::1\])/i.test(url)) {
    say('https', 'skipped', 'plain http, and it stays on this machine');
  } else say('https', 'warning', 'plain http: the secrets can be read on the way');
}

const day = (ms: number): string =>
  Number.isNaN(ms) ? 'an unknown day' : new Date(ms).toISOString().slice(0, 10);

function inDays(ms: number): string {
  const days = Math.floor(Math.abs(ms) / DAY);
  return `${days} ${days === 1 ? 'day' : 'days'}`;
}

/** What a certificate that is not trusted lacks, in words, and what to do. */
function distrust({ problem, validFrom, validTo, names, issuer }: Certificate): string {
  switch (problem) {
    case 'CERT_HAS_EXPIRED':
      return `expired on ${day(validTo)}, ${inDays(Date.now() - validTo)} ago; it must be renewed there`;
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

function checkCertificate(certificate: Certificate | undefined, say: Report): boolean {
  if (certificate === undefined) {
    say('certificate', 'skipped', 'there is none without https');
    return true;
  }
  if (certificate.problem !== undefined) {
    say('certificate', 'wrong', distrust(certificate));
    return false;
  }
  const left = certificate.validTo - Date.now();
  const until = `valid until ${day(certificate.validTo)} (${inDays(left)}), by ${certificate.issuer}`;
  if (left < SOON) say('certificate', 'warning', `${until}; it must be renewed soon`);
  else say('certificate', 'ok', until);
  return true;
}

function checkClock(skew: number | undefined, say: Report): void {
  if (skew === undefined) {
    say('clock', 'skipped', 'the service does not tell its time');
  } else if (Math.abs(skew) < LARGEST_SKEW) {
    say('clock', 'ok', 'agrees with the service');
  } else {
    const seconds = Math.round(Math.abs(skew) / 1000);
    const way = skew > 0 ? 'behind' : 'ahead of';
    say('clock', 'wrong', `this machine is ${seconds} s ${way} the service; set its clock`);
  }
}
