/**
 * Contract suites for stores of your own.
 *
 * @group API
 * @module marketgate/testing
 */

export { describeHolderStore, type HolderStoreSetup } from './describe-holder-store.js';
export { describeTokenStore, type TokenStoreSetup } from './describe-token-store.js';
export type { TestRunner } from './suite.js';
