import { isIP } from 'node:net';

/** The host of a `Host` header, or of an address to listen on: no port, no brackets, small letters. */
function hostnameOf(host: string): string {
  const url = `http://${isIP(host) === 6 ? `[${host}]` : host}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : '';
}

/**
 * The names the console answers under. Another website can point a name of its own at this machine (DNS
 * rebinding), and then its pages and the console share an origin: neither CORS nor Sec-Fetch-Site tells them
 * apart, only the Host header does. Nobody can do that with an address, with localhost, or with a name
 * without a dot, which no public DNS resolves.
 */
export class ConsoleHosts {
  readonly #named = new Set<string>();

  constructor(names: readonly string[] = []) {
    for (const name of names) this.add(name);
  }

  /** Allows one more name. */
  add(host: string): void {
    this.#named.add(hostnameOf(host));
  }

  /** Whether a request with this Host header may see and use the console. */
  allows(host: string | undefined): boolean {
    const name = hostnameOf(host ?? '');
    if (name === '') return false;
    if (isIP(name) !== 0 || !name.includes('.') || name.endsWith('.localhost')) return true;
    return this.#named.has(name);
  }
}
