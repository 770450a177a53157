import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import type { Express } from 'express';
import { codesOf } from './actions.js';
import { createApp } from './app.js';
import { acceptLogin } from './callback.js';
import type { SandboxClock } from './clock.js';
import { createContext, type SandboxContext, type SandboxOptions } from './context.js';
import { firstCredentials, type SandboxCode, type SandboxData } from './data.js';
import { hostnameOf } from './guard.js';
import type { SandboxRequest } from './record.js';
import type { SandboxSeed } from './schema.js';
import { buildSeed } from './seed.js';
import {
  changeSwitches,
  type SandboxDialect,
  type SandboxFaults,
  switchValues,
} from './switches.js';

/** What a client needs to talk to a sandbox that is listening. */
export interface SandboxListening {
  /** Where the key API is: `{base_url}` of the specification. */
  baseUrl: string;
  /** Where the login API is: `{auth_url}` of the specification. */
  authUrl: string;
  /** The api_key of the first workspace. */
  apiKey: string;
  /** The first app's id. */
  appId: string;
  /** The secret of that app. */
  appSecret: string;
  /** The same as {@link Sandbox.close}. */
  close: () => Promise<void>;
}

/** What {@link Sandbox.snapshot} gives: plain JSON, with the secrets of the sandbox in it. */
export interface SandboxSnapshot {
  /** Users, workspaces with their keys, apps, items and purchases. */
  readonly seed: SandboxSeed;
  /** The values of all switches, by names such as `faults.latency`; `null` is "not set". */
  readonly switches: Readonly<Record<string, unknown>>;
}

/** A host as it stands in a URL. The unspecified addresses are reached through loopback. */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** The service of the specification, for development and tests. Made by {@link createSandbox}. */
export class Sandbox {
  /** The Express app, for supertest, or to be mounted at `/`: its pages link from there. */
  readonly app: Express;
  /** The sandbox's time; can be given to clients as their `clock`. */
  readonly clock: SandboxClock;
  /** Differences from the specification, changeable while it runs. */
  readonly dialect: SandboxDialect;
  /** What goes wrong, changeable while it runs. */
  readonly faults: SandboxFaults;
  /** What the service knows, to read and to change. */
  readonly data: SandboxData;
  readonly #context: SandboxContext;
  #server: Server | undefined;

  /** @internal */
  constructor(options: SandboxOptions) {
    this.#context = createContext(options);
    this.app = createApp(this.#context);
    this.clock = this.#context.clock;
    this.dialect = this.#context.dialect;
    this.faults = this.#context.faults;
    this.data = this.#context.data;
    if (options.redirectUrl !== undefined) this.redirectUrl = options.redirectUrl;
  }

  /** The last 1,000 requests, newest last, without secrets. A copy each time. */
  get requests(): readonly SandboxRequest[] {
    return this.#context.record.list();
  }

  /** Codes to try, with what to expect of each. */
  get codes(): readonly SandboxCode[] {
    return codesOf(this.#context);
  }

  /** The first app's registered redirect URL. `undefined`: none; a login then asks for it. */
  get redirectUrl(): string | undefined {
    return this.data.apps[0]?.redirect_url;
  }

  /** Registers another, or none. */
  set redirectUrl(url: string | undefined) {
    this.data.setRedirectUrl(firstCredentials(this.data).appId, url);
  }

  /**
   * Accepts a login in a user's name, as after the consent page, for tests of routes behind a login. Gives the
   * address to which the browser goes then: the app's callback, with a new auth_key.
   *
   * @param options - `appId`: the app; by default the first. `state`: comes back with the switch `echoState`.
   * @throws TypeError where there is no such user or app, or the app has no redirect URL.
   */
  acceptLogin(
    userId: string,
    options: { appId?: string | undefined; state?: string | undefined } = {},
  ): string {
    return acceptLogin(this.#context, userId, options.appId, options.state);
  }

  /** The data and the switches as they are now, as JSON. Not in it: the clock, logins, requests. */
  snapshot(): SandboxSnapshot {
    const seed = structuredClone({ ...this.data }) as SandboxSeed;
    return { seed, switches: structuredClone(switchValues(this.#context)) };
  }

  /**
   * Puts the data and the switches of a snapshot back; what it lacks is as by default.
   *
   * @throws TypeError that names what is wrong; nothing is changed then.
   */
  restore(snapshot: SandboxSnapshot): void {
    if (typeof snapshot !== 'object' || snapshot === null || !('seed' in snapshot)) {
      throw new TypeError('snapshot: expected an object of seed and switches');
    }
    const seed = buildSeed(snapshot.seed, this.clock.now());
    changeSwitches(this, { faults: null, dialect: null, ...snapshot.switches });
    Object.assign(this.data, seed);
  }

  /** Forgets the requests so far. */
  clearRequests(): void {
    this.#context.record.clear();
  }

  /**
   * Starts to listen. Rejects when the port is taken, or the sandbox is closed meanwhile.
   *
   * @param port - Default 0: any that is free.
   * @param host - Default `127.0.0.1`. The sandbox gives its secrets to everybody who can reach it.
   */
  async listen(port = 0, host = '127.0.0.1'): Promise<SandboxListening> {
    if (this.#server) throw new Error('The sandbox is listening already; close it first.');
    if (!Number.isInteger(port) || port < 0 || port > 65_535) {
      throw new TypeError('listen: "port" must be a whole number from 0 to 65535');
    }
    const server = createServer(this.app).listen(port, host);
    this.#server = server;
    const closed = once(server, 'close').then(() => {
      throw new Error('The sandbox was closed before it listened.');
    });
    await Promise.race([once(server, 'listening'), closed]).catch((error: unknown) => {
      if (this.#server === server) this.#server = undefined;
      throw error;
    });
    if (isIP(host) === 0) this.#context.consoleHosts.add(hostnameOf(host));
    const origin = `http://${urlHost(host)}:${(server.address() as AddressInfo).port}`;
    return {
      baseUrl: origin,
      authUrl: origin,
      ...firstCredentials(this.data),
      close: () => this.close(),
    };
  }

  /** Stops at once, whatever is still open. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    server.close();
    // Kept-alive connections, hanging and endless answers.
    server.closeAllConnections();
    await once(server, 'close');
  }
}

/**
 * Makes a sandbox: the whole service of the specification, both APIs, with data to try. Nothing listens until
 * {@link Sandbox.listen}. An option that it does not understand throws a TypeError that names it.
 *
 * @example
 * const sandbox = createSandbox();
 * const { baseUrl, apiKey } = await sandbox.listen();
 * const keyApi = new KeyApi({ baseUrl, apiKey });
 * await keyApi.validatePurchase(sandbox.codes[0].code);
 */
export const createSandbox = (options: SandboxOptions = {}): Sandbox => new Sandbox(options);
