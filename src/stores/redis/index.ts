/**
 * Answers, failed attempts, tokens and holders in Redis or Valkey, with a client of redis, ioredis or iovalkey.
 *
 * @group API
 * @module marketgate/redis
 */

export type { IoRedisClient, NodeRedisClient, RedisClient } from './clients.js';
export type { RedisStoreOptions } from './connection.js';
export { RedisCache, type RedisCacheOptions } from './redis-cache.js';
export { RedisGuessLimit, type RedisGuessLimitOptions } from './redis-guess-limit.js';
export { RedisHolderStore, type RedisHolderStoreOptions } from './redis-holder-store.js';
export { RedisTokenStore, type RedisTokenStoreOptions } from './redis-token-store.js';
