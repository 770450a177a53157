import type { SandboxDialect } from '../dialect.js';
import type { AccountResource } from './account-resource.js';
import type { ItemResource, MediaResource } from './item-resource.js';
import { localisedLicense } from './localised.js';
import type { PurchaseResource } from './purchase-resource.js';

const amount = (value: number, dialect: SandboxDialect): number | string =>
  dialect.numericStrings ? value.toFixed(2) : value;

const time = (iso: string, dialect: SandboxDialect): string =>
  dialect.microseconds ? new Date(iso).toISOString().replace('Z', '000Z') : iso;

function driftedMedia(media: MediaResource, dialect: SandboxDialect): object {
  if (!dialect.screenshotsAsObject) return media;
  // Spreading an array numbers its entries: {"0": url, "1": url}.
  return { ...media, screenshots: media.screenshots ? { ...media.screenshots } : null };
}

/** An item as a deployment of this dialect sends it. */
export function driftedItem(item: ItemResource, dialect: SandboxDialect): object {
  return {
    ...item,
    tags: dialect.tagsAsString ? item.tags.join(',') : item.tags,
    media: driftedMedia(item.media, dialect),
    price: {
      regular: amount(item.price.regular, dialect),
      extended: amount(item.price.extended, dialect),
    },
    published_at: time(item.published_at, dialect),
    ...(dialect.nulls && { options: null, version: null, demo_link: null, sub_category: null }),
  };
}

/** A purchase as a deployment of this dialect sends it. */
export function driftedPurchase(purchase: PurchaseResource, dialect: SandboxDialect): object {
  const until = purchase.supported_until;
  return {
    ...purchase,
    license_type: localisedLicense(purchase.license_type, dialect),
    price: amount(purchase.price, dialect),
    item: driftedItem(purchase.item, dialect),
    ...(until !== undefined && { supported_until: time(until, dialect) }),
    date: time(purchase.date, dialect),
  };
}

/**
 * An account as a deployment of this dialect sends it.
 *
 * @param linksAreNull - With `nulls`: whether `social_links` itself is null, or else its values are.
 */
export function driftedAccount(
  account: AccountResource,
  dialect: SandboxDialect,
  linksAreNull: boolean,
): object {
  const names = Object.keys(account.profile.social_links);
  const nulls = {
    heading: null,
    description: null,
    contact: { email: null },
    social_links: linksAreNull ? null : Object.fromEntries(names.map((name) => [name, null])),
  };
  return {
    ...account,
    balance: amount(account.balance, dialect),
    profile: { ...account.profile, ...(dialect.nulls && nulls) },
    registered_at: time(account.registered_at, dialect),
  };
}
