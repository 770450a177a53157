import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';
import { createApp } from './app.js';
import type { SandboxClock } from './clock.js';
import { createContext, type SandboxOptions } from './context.js';
import { listCodes, type SandboxCode } from './data/codes.js';
import type { SandboxData } from './data/sandbox-data.js';
import type { SandboxDialect } from './dialect.js';
import type { SandboxFaults } from './faults.js';
import { callbackUrl } from './login-api/oauth.js';
import type { SandboxRequest } from './record.js';
import { restoreSnapshot, type SandboxSnapshot, snapshotOf } from './state.js';

/** What a client needs to talk to a sandbox that is listening. */
export interface SandboxListening {
  /** Where the key API is: `{base_url}` of the specification. */
  baseUrl: string;
  /** Where the login API is: `{auth_url}` of the specification. */
  authUrl: string;
  /** The api_key of the first workspace; an empty string when that has none. */
  apiKey: string;
  /** The first app's id. */
  appId: string;
  /** The secret of that app. */
  appSecret: string;
  /** The same as {@link Sandbox.close}. */
  close: () => Promise<void>;
}

/** The service of the specification, for development and tests. Made by {@link createSandbox}. */
export interface Sandbox {
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
  /** The last 1,000 requests, newest last, without secrets. A copy each time. */
  readonly requests: readonly SandboxRequest[];
  /** Codes to try, with what to expect of each. */
  readonly codes: readonly SandboxCode[];
  /** The first app's registered redirect URL. `undefined`: `/callback` where the browser came from. */
  redirectUrl: string | undefined;
  /**
   * Accepts a login in a user's name, as after the consent page, for tests of routes behind a login. Gives the
   * address to which the browser goes then: the app's callback, with a new auth_key.
   *
   * @param options - `appId`: the app; by default the first.
   * @throws TypeError where there is no such user or app, or the app has no redirect URL.
   */
  acceptLogin(userId: string, options?: { appId?: string | undefined }): string;
  /** The data and the switches as they are now, as JSON. Not in it: the clock, logins, requests. */
  snapshot(): SandboxSnapshot;
  /** Puts the data and the switches of a snapshot back. A TypeError names what is wrong with it. */
  restore(snapshot: SandboxSnapshot): void;
  /** Forgets the requests so far. */
  clearRequests(): void;
  /**
   * Starts to listen. Rejects when the port is taken.
   *
   * @param port - Default 0: any that is free.
   * @param host - Default `127.0.0.1`. The sandbox gives its secrets to everybody who can reach it.
   */
  listen(port?: number, host?: string): Promise<SandboxListening>;
  /** Stops at once, whatever is still open. */
  close(): Promise<void>;
}

/** A host as it stands in a URL. The unspecified addresses are reached through loopback. */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * Makes a sandbox: the service of the specification, whole, both interfaces, seeded. Nothing listens until
 * {@link Sandbox.listen}. An option that it does not understand throws a TypeError that names it.
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const context = createContext(options);
  const { data, clock, dialect, faults, record } = context;
  const app = createApp(context);
  const firstAppId = () => data.apps[0]?.app_id ?? '';
  if (options.redirectUrl !== undefined) data.setRedirectUrl(firstAppId(), options.redirectUrl);

  let server: Server | undefined;
  const close = async () => {
    context.live.close();
    const closing = server;
    server = undefined;
    await new Promise<unknown>((resolve) => {
      if (!closing) return resolve(undefined);
      closing.close(resolve);
      // Kept-alive connections, hanging and endless answers.
      closing.closeAllConnections();
    });
  };

  return {
    app,
    clock,
    dialect,
    faults,
    data,
    get requests() {
      return record.list();
    },
    get codes() {
      return listCodes(data, clock.now());
    },
    get redirectUrl() {
      return data.apps[0]?.redirect_url;
    },
    set redirectUrl(url: string | undefined) {
      data.setRedirectUrl(firstAppId(), url);
    },
    acceptLogin(userId, { appId = firstAppId() } = {}) {
      const app = data.apps.find(({ app_id }) => app_id === appId);
      if (!app) throw new TypeError('acceptLogin: there is no such app');
      if (!data.users.some(({ user_id }) => user_id === userId)) {
        throw new TypeError('acceptLogin: there is no such user');
      }
      if (app.redirect_url === undefined) {
        throw new TypeError('acceptLogin: the app has no redirect URL; give redirectUrl');
      }
      return callbackUrl(context, appId, app.redirect_url, userId);
    },
    snapshot: () => snapshotOf(context),
    restore(snapshot) {
      restoreSnapshot(context, snapshot);
      context.changed();
    },
    clearRequests: () => record.clear(),
    async listen(port = 0, host = '127.0.0.1') {
      if (server) throw new Error('The sandbox is listening already; close it first.');
      const starting = createServer(app);
      server = starting;
      await new Promise<void>((resolve, reject) => {
        starting.once('error', reject);
        starting.listen(port, host, resolve);
      }).catch((error: unknown) => {
        server = undefined;
        throw error;
      });
      context.hosts.add(host);
      const { port: actual } = starting.address() as AddressInfo;
      const origin = `http://${urlHost(host)}:${actual}`;
      return {
        baseUrl: origin,
        authUrl: origin,
        apiKey: data.workspaces[0]?.api_key ?? '',
        appId: firstAppId(),
        appSecret: data.apps[0]?.app_secret ?? '',
        close,
      };
    },
    close,
  };
}
