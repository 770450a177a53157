export type { KeyvEmitter, KeyvLike } from './keyv-like.js';
export { KeyvTokenStore, type KeyvTokenStoreOptions } from './keyv-token-store.js';
