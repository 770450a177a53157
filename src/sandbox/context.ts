import type { Changes } from './changes.js';
import type { SandboxClock } from './clock.js';
import type { ConsoleHosts } from './console/console-hosts.js';
import type { LiveEvents } from './console/live-events.js';
import type { SandboxData } from './data/sandbox-data.js';
import type { SandboxDialect } from './dialect.js';
import type { SandboxFaults } from './faults/faults.js';
import type { LoginAttempts } from './login-api/login-attempts.js';
import type { LoginCredentials } from './login-api/login-credentials.js';
import type { BrowserSessions } from './pages/browser-sessions.js';
import type { RequestRecord } from './record.js';

/** What the parts of one sandbox share. */
export interface SandboxContext {
  readonly changes: Changes;
  readonly clock: SandboxClock;
  readonly dialect: SandboxDialect;
  readonly faults: SandboxFaults;
  readonly data: SandboxData;
  readonly credentials: LoginCredentials;
  readonly attempts: LoginAttempts;
  readonly sessions: BrowserSessions;
  readonly record: RequestRecord;
  readonly live: LiveEvents;
  readonly hosts: ConsoleHosts;
}
