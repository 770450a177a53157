import { createClock, type SandboxClock } from './clock.js';
import { ConsoleHosts } from './console/guard.js';
import { LiveEvents } from './console/live-events.js';
import { buildSeed } from './data/build-seed.js';
import { SandboxData } from './data/sandbox-data.js';
import { createDialect, type SandboxDialect } from './dialect.js';
import { createFaults, type SandboxFaults } from './faults.js';
import { BrowserSessions } from './login-api/browser-sessions.js';
import { LoginCredentials } from './login-api/login-credentials.js';
import type { SandboxOptions } from './options.js';
import { RequestRecord } from './record.js';

export interface SandboxContext {
  readonly clock: SandboxClock;
  readonly dialect: SandboxDialect;
  readonly faults: SandboxFaults;
  readonly data: SandboxData;
  readonly credentials: LoginCredentials;
  readonly sessions: BrowserSessions;
  readonly record: RequestRecord;
  readonly live: LiveEvents;
  readonly hosts: ConsoleHosts;
}

/** Makes the parts of one sandbox. Every change of any of them is an event for open consoles. */
export function createContext(options: SandboxOptions): SandboxContext {
  const live = new LiveEvents();
  const clock = createClock(options.clock ?? Date.now, live.changed);
  const dialect = createDialect(options.dialect, live.changed);
  const credentials = new LoginCredentials(clock, dialect, live.changed);
  const seed = buildSeed(options.seed, clock.now());
  const revoke = (accessToken: string) => credentials.revokeToken(accessToken);
  return {
    live,
    clock,
    dialect,
    credentials,
    data: new SandboxData(seed, clock, revoke, live.changed),
    faults: createFaults(live.changed),
    sessions: new BrowserSessions(clock),
    record: new RequestRecord(clock, live.changed),
    hosts: new ConsoleHosts(options.consoleHosts),
  };
}
