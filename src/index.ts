/**
 * Clients, strategy, middleware, stores in memory, errors and types.
 *
 * @group API
 * @module marketgate
 */

export type { CallOptions, VisitorCallOptions } from './cache/cache.js';
export type { CacheOptions } from './cache/options.js';
export type { SharedCache, SharedValue } from './cache/shared-cache.js';
export type { LicenseType, PurchaseCheckOptions, PurchaseConditions } from './check/conditions.js';
export type { Decision, Denial } from './check/decision.js';
export type { HolderId, HolderOptions } from './check/holder-check.js';
export {
  type CheckPurchaseOptions,
  checkPurchase,
  type PurchaseValidator,
} from './check/purchase-check.js';
export type { ApiKeyOption } from './clients/api-key.js';
export type { ClientOptions } from './clients/client-options.js';
export {
  KeyApi,
  type KeyApiOptions,
  type ValidationEncoding,
} from './clients/key-api.js';
export {
  type ExchangeOptions,
  LoginApi,
  type LoginApiOptions,
  type LoginCallOptions,
} from './clients/login-api.js';
export {
  type DriftMessage,
  type GuardMessage,
  type LoginMessage,
  type LookupMessage,
  type RequestMessage,
  SECRET_NAMES,
  type StoreDriftMessage,
} from './diagnostics.js';
export {
  isMarketgateError,
  MarketgateError,
  type MarketgateErrorCode,
  type MarketgateErrorJson,
  type MarketgateErrorOptions,
} from './errors.js';
export {
  type CodeSource,
  firstOf,
  fromBody,
  fromHeader,
  fromQuery,
  fromSession,
} from './express/code-source.js';
export {
  accountOf,
  itemOf,
  itemsOf,
  type MarketplaceContext,
  type Middleware,
  purchaseOf,
  userOf,
  type Verdict,
} from './express/context.js';
export {
  type ErrorHandlerOptions,
  type ErrorMiddleware,
  errorHandler,
  type Problem,
  problemOf,
} from './express/error-handler.js';
export {
  type LoadItemOptions,
  loadAccount,
  loadItem,
  loadItems,
} from './express/load.js';
export {
  type LoadPurchaseOptions,
  loadPurchase,
  type RequirePurchaseOptions,
  requirePurchase,
} from './express/purchase-guard.js';
export {
  type LoadUserOptions,
  loadUser,
  type RequireAccessTokenOptions,
  type RequireLoginOptions,
  requireAccessToken,
  requireLogin,
  type UserIdSource,
  type UserSource,
} from './express/require-login.js';
export type { GuessLimit, GuessLimitOption, GuessLimitOptions } from './guess/guess-limit.js';
export type { FetchLike } from './http/settings.js';
export type { AccessToken } from './model/access-token.js';
export type { Account, AccountProfile } from './model/account.js';
export type { Item, ItemMedia, ItemPrice } from './model/item.js';
export type { Purchase } from './model/purchase.js';
export type { UserInfo } from './model/user-info.js';
export type { AppId } from './options.js';
export type {
  Confirmation,
  ConfirmWhen,
  LoginChange,
  RenderConfirmation,
} from './passport/confirmation.js';
export { MarketplaceStrategy } from './passport/marketplace-strategy.js';
export type {
  ConfirmOptions,
  MarketplaceAuthenticateOptions,
  MarketplaceStrategyOptions,
} from './passport/strategy-options.js';
export type {
  AsyncVerify,
  MarketplaceProfile,
  RefusingVerify,
  TokenParams,
  VerifiedUser,
  VerifyDone,
  VerifyInput,
  VerifyWithDone,
} from './passport/verify.js';
export type { ContinueWords, ErrorWords, PageWords, Site, SiteWords } from './site.js';
export {
  EncryptedTokenStore,
  type EncryptedTokenStoreOptions,
  type EncryptionKey,
} from './stores/encrypted-token-store.js';
export {
  type HolderStore,
  MemoryHolderStore,
} from './stores/holder-store.js';
export { MemoryTokenStore, type MemoryTokenStoreOptions } from './stores/memory-token-store.js';
export type { TokenStore } from './stores/token-store.js';
export type { ClientOption } from './web/client.js';
export { isFreshLogin } from './web/login-request.js';
export { returnTo } from './web/return-to.js';
export { currentUser } from './web/user.js';
