export { describeSharedCache, type SharedCacheSetup } from './describe-shared-cache.js';
export { describeTokenStore, type TokenStoreSetup } from './describe-token-store.js';
export type { TestRunner } from './suite.js';
