export type { CacheOptions } from './cache/options.js';
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
export type { ClientOptions } from './http/client-options.js';
export type { Account, AccountProfile } from './key-api/account.js';
export type { ApiKeyOption } from './key-api/api-key.js';
export type { CodesInvalidMessage } from './key-api/code-alarm.js';
export type { Item, ItemMedia, ItemPrice } from './key-api/item.js';
export { type CallOptions, KeyApi, type KeyApiOptions } from './key-api/key-api.js';
export type { Purchase } from './key-api/purchase.js';
export type { ValidationEncoding } from './key-api/validation-encoding.js';
export { LoginApi, type LoginApiOptions, type LoginCallOptions } from './login-api/login-api.js';
export type { UserInfo } from './login-api/user-info.js';
export type { AccessToken } from './model/access-token.js';
export type { Confirmation, RenderConfirmation } from './passport/confirmation.js';
export {
  type MarketplaceAuthenticateOptions,
  MarketplaceStrategy,
} from './passport/marketplace-strategy.js';
export type { MarketplaceProfile } from './passport/profile.js';
export { isFreshLogin, returnTo } from './passport/return-to.js';
export type {
  ConfirmOptions,
  ConfirmWhen,
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
} from './stores/encrypted-token-store.js';
export type { EncryptionKey } from './stores/encryption-keys.js';
export type {
  GuessLimit,
  GuessLimitOptions,
  Reservation,
} from './stores/guess-limit/guess-limit.js';
export { MemoryGuessLimit } from './stores/guess-limit/memory-guess-limit.js';
export { MemoryTokenStore, type MemoryTokenStoreOptions } from './stores/memory-token-store.js';
export type { SharedCache, SharedRow } from './stores/shared-cache.js';
export type { TokenStore } from './stores/token-store.js';
