import type { Express } from 'express';
import { createApp } from './app.js';
import { Changes } from './changes.js';
import { createClock, type SandboxClock } from './clock.js';
import { ConsoleHosts } from './console/console-hosts.js';
import { LiveEvents } from './console/live-events.js';
import type { SandboxContext } from './context.js';
import { listCodes, type SandboxCode } from './data/codes.js';
import { SandboxData } from './data/sandbox-data.js';
import { createDialect, type SandboxDialect } from './dialect.js';
import { createFaults } from './faults/create-faults.js';
import type { SandboxFaults } from './faults/faults.js';
import { Listener } from './listener.js';
import { LoginAttempts } from './login-api/login-attempts.js';
import { LoginCredentials } from './login-api/login-credentials.js';
import { checkOptions, type SandboxOptions } from './options.js';
import { BrowserSessions } from './pages/browser-sessions.js';
import { RequestRecord, type SandboxRequest } from './record.js';
import { buildSeed } from './seed/build-seed.js';

/** What a client needs to talk to a sandbox that is listening. */
export interface SandboxListening {
  /** Where interface A is: `{base_url}` of the specification. */
  baseUrl: string;
  /** Where interface B is: `{auth_url}` of the specification. */
  authUrl: string;
  /** The api_key of the first workspace; an empty string when that has none. */
  apiKey: string;
  /** The first app's credentials. */
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
  /** The time the sandbox lives by; can be given to clients as their `clock`. */
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
  /** Forgets the requests so far. */
  clearRequests(): void;
  /**
   * Starts to listen.
   *
   * @param port - Default 0: any that is free.
   * @param host - Default `127.0.0.1`. The sandbox gives its secrets to whoever can reach it.
   */
  listen(port?: number, host?: string): Promise<SandboxListening>;
  /** Stops at once, whatever is still open. */
  close(): Promise<void>;
}

function createContext(options: SandboxOptions): SandboxContext {
  const changes = new Changes();
  const clock = createClock(options.clock ?? Date.now, changes.note);
  const dialect = createDialect(options.dialect, changes.note);
  const credentials = new LoginCredentials(clock, dialect, changes.note);
  const record = new RequestRecord(clock, changes.note);
  return {
    changes,
    clock,
    dialect,
    credentials,
    data: new SandboxData(buildSeed(options.seed, clock.now()), clock, credentials, changes.note),
    faults: createFaults(changes.note),
    attempts: new LoginAttempts(clock),
    sessions: new BrowserSessions(),
    record,
    live: new LiveEvents(record, changes),
    hosts: new ConsoleHosts(options.consoleHosts),
  };
}

/**
 * Makes a sandbox: the service of the specification, whole, both interfaces, seeded. Nothing listens until
 * {@link Sandbox.listen}. An option it does not understand throws a TypeError that names it.
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  checkOptions(options);
  const context = createContext(options);
  const { data, clock, dialect, faults, record } = context;
  const app = createApp(context);
  const listener = new Listener(app);
  const firstAppId = data.apps[0]?.app_id ?? '';
  if (options.redirectUrl !== undefined) data.setRedirectUrl(firstAppId, options.redirectUrl);
  const close = async () => {
    context.live.close();
    await listener.close();
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
      data.setRedirectUrl(firstAppId, url);
    },
    clearRequests: () => record.clear(),
    async listen(port = 0, host = '127.0.0.1') {
      const origin = await listener.listen(port, host);
      context.hosts.add(host);
      return {
        baseUrl: origin,
        authUrl: origin,
        apiKey: data.workspaces[0]?.api_key ?? '',
        appId: firstAppId,
        appSecret: data.apps[0]?.app_secret ?? '',
        close,
      };
    },
    close,
  };
}
