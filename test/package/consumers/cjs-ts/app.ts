// The .d.cts files; only type-checked.
import express = require('express');
import marketgate = require('marketgate');

import { KeyApi, requirePurchase } from 'marketgate';
import type { KeyvTokenStore } from 'marketgate/keyv';
import type { RedisCache } from 'marketgate/redis';
import { createSandbox } from 'marketgate/sandbox';
import type { describeTokenStore } from 'marketgate/testing';

/** True only where the two types are the same; `any` is the same as nothing but itself. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

const keyApi: marketgate.KeyApi = new KeyApi({ baseUrl: 'https://a.example', apiKey: 'key' });
express().get('/guarded/:id', requirePurchase(keyApi, { item: 1042 }), (req, res) => {
  const bought = req.marketplace?.purchase?.item.id;
  const typed: Same<typeof bought, number | undefined> = true;
  const named: Same<typeof req.params.id, string> = true;
  res.json({ bought, typed, named });
});

// The other entries are found under every module resolution.
export type Entries = [KeyvTokenStore, RedisCache, typeof describeTokenStore];
export const { redirectUrl }: { redirectUrl?: string | undefined } = createSandbox();
