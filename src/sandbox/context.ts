import { createClock, type SandboxClock } from './clock.js';
import { ConsoleHosts } from './console/guard.js';
import { LiveEvents } from './console/live-events.js';
import { buildSeed } from './data/build-seed.js';
import { SandboxData } from './data/sandbox-data.js';
import type { SandboxSeed } from './data/schema.js';
import { createDialect, type SandboxDialect } from './dialect.js';
import { createFaults, type SandboxFaults } from './faults.js';
import { BrowserSessions } from './login-api/browser-sessions.js';
import { LoginCredentials } from './login-api/login-credentials.js';
import type { SandboxOptions } from './options.js';
import { RequestRecord } from './record.js';
import { keepState } from './state.js';

export interface SandboxContext {
  readonly clock: SandboxClock;
  readonly dialect: SandboxDialect;
  readonly faults: SandboxFaults;
  /** What `data` reads and changes. */
  readonly seed: SandboxSeed;
  readonly data: SandboxData;
  /** Something changed that a state file holds. */
  readonly changed: () => void;
  readonly credentials: LoginCredentials;
  readonly sessions: BrowserSessions;
  readonly record: RequestRecord;
  readonly live: LiveEvents;
  readonly hosts: ConsoleHosts;
}

/** Makes the parts of one sandbox. Every change of any of them is an event for open consoles. */
export function createContext(options: SandboxOptions): SandboxContext {
  const live = new LiveEvents();
  let save = () => {};
  const changed = () => {
    save();
    live.changed();
  };
  const clock = createClock(options.clock ?? Date.now, live.changed);
  const dialect = createDialect(options.dialect, changed);
  const credentials = new LoginCredentials(clock, dialect, live.changed);
  const seed = buildSeed(options.seed, clock.now());
  const revoke = (accessToken: string) => credentials.revokeToken(accessToken);
  const context: SandboxContext = {
    live,
    clock,
    dialect,
    credentials,
    seed,
    data: new SandboxData(seed, clock, revoke, changed),
    faults: createFaults(changed),
    sessions: new BrowserSessions(clock),
    record: new RequestRecord(clock, live.changed, options.onRequest),
    hosts: new ConsoleHosts(options.consoleHosts),
    changed,
  };
  if (options.state !== undefined) save = keepState(context, options.state);
  return context;
}
