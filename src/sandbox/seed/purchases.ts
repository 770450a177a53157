import { timestamp } from '../clock.js';
import type { SeedPurchase } from './types.js';

const DAY = 86_400_000;

/**
 * A purchase of every kind, under codes that never change. Dates hang on the time the sandbox starts, so
 * that support which is still ahead today is still ahead next year.
 */
export function purchases(now: number): SeedPurchase[] {
  const at = (days: number) => timestamp(now + days * DAY);
  const usd = (price: number) => ({ price, currency: 'USD' });
  return [
    {
      purchase_code: '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10',
      kind: 'supported',
      item_id: 1042,
      license_type: 'Regular',
      ...usd(24),
      supported_until: at(122),
      downloaded: true,
      date: at(-60),
    },
    {
      purchase_code: 'b83e07d1-4c6f-4a92-9e18-5d7a3c1f60b2',
      kind: 'extended',
      item_id: 1042,
      license_type: 'Extended',
      ...usd(180),
      supported_until: at(340),
      downloaded: true,
      date: at(-25),
    },
    {
      purchase_code: '2d94f6c8-71b5-4e03-a4d7-8f0b92e6c153',
      kind: 'support-over',
      item_id: 1042,
      license_type: 'Regular',
      ...usd(24),
      supported_until: at(-45),
      downloaded: true,
      date: at(-227),
    },
    {
      purchase_code: '94a0c3e7-d25f-4816-b7c9-13e68fd05a24',
      kind: 'unsupported',
      item_id: 1042,
      license_type: 'Regular',
      ...usd(24),
      downloaded: false,
      date: at(-3),
    },
    {
      purchase_code: 'e7520b9d-8a13-4fc6-85e2-c40d71a9f635',
      kind: 'other-item',
      item_id: 1046,
      license_type: 'Regular',
      ...usd(19),
      supported_until: at(90),
      downloaded: true,
      date: at(-92),
    },
    {
      purchase_code: '0c6e8d42-f39b-47a5-9d01-a86b5f72e346',
      kind: 'video-item',
      item_id: 1049,
      license_type: 'Regular',
      ...usd(49),
      supported_until: at(171),
      downloaded: false,
      date: at(-11),
    },
    {
      purchase_code: '5ab17f90-2e4d-4d68-bc73-e91f08d6c457',
      kind: 'audio-item',
      item_id: 1055,
      license_type: 'Extended',
      ...usd(120),
      supported_until: at(58),
      downloaded: true,
      date: at(-124),
    },
    {
      purchase_code: 'd318c6a5-b07e-4952-8f4a-670e2d9bc568',
      kind: 'deleted-item',
      item_id: 1044,
      license_type: 'Regular',
      ...usd(12),
      supported_until: at(30),
      downloaded: true,
      date: at(-150),
    },
    {
      purchase_code: '8e4f5b03-c1d6-4e79-a260-fb37d8a0e679',
      kind: 'refunded',
      item_id: 1042,
      license_type: 'Regular',
      ...usd(24),
      supported_until: at(100),
      downloaded: true,
      date: at(-82),
      void: 'refunded',
    },
    {
      purchase_code: '37b9d2e1-650c-4a8f-93be-4d1c76f5a780',
      kind: 'cancelled',
      item_id: 1046,
      license_type: 'Regular',
      ...usd(19),
      downloaded: false,
      date: at(-7),
      void: 'cancelled',
    },
    {
      purchase_code: 'f60a7c28-39e4-4b15-8d97-b25e0f83c891',
      kind: 'other-workspace',
      item_id: 1061,
      license_type: 'Regular',
      price: 22,
      currency: 'EUR',
      supported_until: at(75),
      downloaded: true,
      date: at(-108),
    },
    {
      purchase_code: '1e85d0f7-a46b-4c32-b0e8-957c3d2af9a2',
      kind: 'other-workspace',
      item_id: 1064,
      license_type: 'Extended',
      price: 95,
      currency: 'EUR',
      downloaded: false,
      date: at(-1),
    },
  ];
}
