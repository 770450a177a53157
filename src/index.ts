export type { MarketgateErrorCode } from './errors/codes.js';
export {
  isMarketgateError,
  MarketgateError,
  type MarketgateErrorOptions,
} from './errors/marketgate-error.js';
