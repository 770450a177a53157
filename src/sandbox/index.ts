/**
 * The whole marketplace service, for development and tests.
 *
 * @group API
 * @module marketgate/sandbox
 */

export type { SandboxClock } from './clock.js';
export type { SandboxOptions } from './context.js';
export type {
  NewApp,
  NewItem,
  NewPurchase,
  NewUser,
  SandboxCode,
  SandboxData,
} from './data.js';
export type { SandboxRequest } from './record.js';
export type { SandboxInterface } from './request.js';
export {
  createSandbox,
  type Sandbox,
  type SandboxListening,
  type SandboxSnapshot,
} from './sandbox.js';
export type {
  SandboxSeed,
  SeedApp,
  SeedItem,
  SeedPurchase,
  SeedUser,
  SeedWorkspace,
} from './schema.js';
export type {
  FaultScope,
  SandboxDialect,
  SandboxFaults,
  ScopedFaults,
} from './switches.js';
