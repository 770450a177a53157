export type { RedisClient, RedisStoreOptions } from './connection.js';
export type { IoRedisClient } from './io-redis.js';
export type { NodeRedisClient } from './node-redis.js';
export { RedisCache } from './redis-cache.js';
export { RedisGuessLimit, type RedisGuessLimitOptions } from './redis-guess-limit.js';
export { RedisHolderStore, type RedisHolderStoreOptions } from './redis-holder-store.js';
export { RedisTokenStore, type RedisTokenStoreOptions } from './redis-token-store.js';
