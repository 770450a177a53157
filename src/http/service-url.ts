import { isIPv4 } from 'node:net';
import { wrongOption } from '../options.js';

/** Where a service is: an origin to connect to, and what stands before each endpoint's path. */
export interface ServiceUrl {
  readonly origin: string;
  readonly basePath: string;
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}

/**
 * Reads `baseUrl` or `authUrl`. The value itself is not repeated in a complaint, for it could hold
 * a password.
 * @throws TypeError that names the option.
 */
export function serviceUrl(
  owner: string,
  name: string,
  value: unknown,
  allowInsecure: boolean,
): ServiceUrl {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw wrongOption(owner, name, 'must be an absolute http or https URL');
  }
  if (url.username !== '' || url.password !== '') {
    throw wrongOption(owner, name, 'must not hold a user name or password');
  }
  if (url.search !== '' || url.hash !== '') {
    throw wrongOption(owner, name, 'must not hold a query or a fragment');
  }
  if (url.protocol === 'http:' && !allowInsecure && !isLoopback(url.hostname)) {
    throw wrongOption(
      owner,
      name,
      'must be https: plain http would show the secrets to everyone on the way (allowInsecure: true permits it)',
    );
  }
  return { origin: url.origin, basePath: url.pathname.replace(/\/+$/, '') };
}
