import type { Request } from 'express';
import type { MemoryTokenStore } from 'marketgate';
import type { AppConfig } from './config.js';
import type { Marketplace } from './marketplace.js';

/** Told of an error that is no answer to a visitor but a failure, for a log. */
export type OnError = (error: unknown, req: Request) => void;

/** What the routes share. */
export interface Shop extends Pick<Marketplace, 'keyApi' | 'loginApi'> {
  readonly config: AppConfig;
  readonly tokenStore: MemoryTokenStore;
  readonly onError: OnError;
}
