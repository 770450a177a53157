export type { SandboxClock } from './clock.js';
export {
  createSandbox,
  type Sandbox,
  type SandboxListening,
} from './create-sandbox.js';
export type { SandboxCode } from './data/codes.js';
export type { NewPurchase, SandboxData } from './data/sandbox-data.js';
export type { SandboxDialect } from './dialect.js';
export type { FaultScope, RateLimitFault, RedirectFault, SandboxFaults } from './faults/faults.js';
export type { AccountResource } from './key-api/account-resource.js';
export type { ItemResource, MediaResource } from './key-api/item-resource.js';
export type { PurchaseResource } from './key-api/purchase-resource.js';
export type { UserInfoResource } from './login-api/user-info-resource.js';
export type { SandboxOptions } from './options.js';
export type { SandboxInterface, SandboxRequest } from './record.js';
export type {
  MediaKind,
  SandboxSeed,
  SeedApp,
  SeedItem,
  SeedPurchase,
  SeedUser,
  SeedWorkspace,
} from './seed/types.js';
