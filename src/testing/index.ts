export { describeSharedCache } from './describe-shared-cache.js';
export { describeTokenStore } from './describe-token-store.js';
export type { SharedCacheSetup } from './shared-cache-setup.js';
export type { TestRunner } from './test-runner.js';
export type { TokenStoreSetup } from './token-store-setup.js';
