export type { CacheOptions } from './cache/options.js';
export type { SharedCache, SharedRow } from './cache/shared-cache.js';
export type { ApiKeyOption } from './clients/api-key.js';
export type { CodesInvalidMessage } from './clients/code-alarm.js';
export { type CallOptions, KeyApi, type KeyApiOptions } from './clients/key-api.js';
export { LoginApi, type LoginApiOptions, type LoginCallOptions } from './clients/login-api.js';
export type { ValidationEncoding } from './clients/validation-encoding.js';
export type {
  DriftMessage,
  GuardMessage,
  LoginMessage,
  LookupMessage,
  RequestMessage,
  StoreDriftMessage,
} from './diagnostics.js';
export type { MarketgateErrorCode } from './errors.js';
export {
  isMarketgateError,
  MarketgateError,
  type MarketgateErrorJson,
  type MarketgateErrorOptions,
} from './errors.js';
export {
  type CodeSource,
  firstOf,
  fromBody,
  fromHeader,
  fromParams,
  fromQuery,
  fromSession,
} from './express/code-sources.js';
export { type ErrorHandlerOptions, errorHandler, type Problem } from './express/error-handler.js';
export type { GuessLimitOption } from './express/guess-limit/guess-gate.js';
export { loadAccount } from './express/load-account.js';
export { type LoadItemOptions, loadItem } from './express/load-item.js';
export { loadItems } from './express/load-items.js';
export { loadPurchase } from './express/load-purchase.js';
export { type LoadUserOptions, loadUser } from './express/load-user.js';
export type { UserIdSource } from './express/login-gate.js';
export type { MarketplaceContext, Verdict } from './express/marketplace-context.js';
export type { PurchaseConditions } from './express/purchase-conditions.js';
export type { PurchaseLookupOptions, PurchaseValidator } from './express/purchase-lookup.js';
export {
  type RequireAccessTokenOptions,
  requireAccessToken,
} from './express/require-access-token.js';
export { type RequireLoginOptions, requireLogin } from './express/require-login.js';
export { type RequirePurchaseOptions, requirePurchase } from './express/require-purchase.js';
export { returnTo } from './express/return-to.js';
export type { ClientOptions, DispatcherLike } from './http/client-options.js';
export type { AccessToken } from './model/access-token.js';
export type { Account, AccountProfile } from './model/account.js';
export type { Item, ItemMedia, ItemPrice } from './model/item.js';
export type { Purchase } from './model/purchase.js';
export type { UserInfo } from './model/user-info.js';
export type { Confirmation, ConfirmWhen, RenderConfirmation } from './passport/confirmation.js';
export {
  isFreshLogin,
  type MarketplaceAuthenticateOptions,
  MarketplaceStrategy,
} from './passport/marketplace-strategy.js';
export type { MarketplaceProfile } from './passport/profile.js';
export type {
  ConfirmOptions,
  MarketplaceStrategyOptions,
} from './passport/strategy-options.js';
export type {
  AsyncVerify,
  ClassicVerify,
  ClassicVerifyWithParams,
  ClassicVerifyWithRequest,
  ClassicVerifyWithRequestAndParams,
  TokenParams,
  VerifyDone,
  VerifyInput,
} from './passport/verify.js';
export {
  EncryptedTokenStore,
  type EncryptedTokenStoreOptions,
  type EncryptionKey,
} from './stores/encrypted-token-store.js';
export type {
  GuessLimit,
  GuessLimitOptions,
  Reservation,
} from './stores/guess-limit/guess-limit.js';
export { MemoryGuessLimit } from './stores/guess-limit/memory-guess-limit.js';
export { MemoryTokenStore, type MemoryTokenStoreOptions } from './stores/memory-token-store.js';
export type { TokenStore } from './stores/token-store.js';
