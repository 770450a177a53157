export { RedisCache, type RedisCacheOptions } from './redis-cache.js';
export type { IoRedisClient, NodeRedisClient, RedisClient } from './redis-client.js';
export { RedisGuessLimit, type RedisGuessLimitOptions } from './redis-guess-limit.js';
export { RedisTokenStore, type RedisTokenStoreOptions } from './redis-token-store.js';
