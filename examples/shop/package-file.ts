import type { Purchase } from 'marketgate';
import { nameOfItem } from './purchases.js';
import { zip } from './zip.js';

/** A file to be sent. */
export interface PackageFile {
  readonly name: string;
  readonly content: Buffer;
}

/** What the customer bought: here a licence and a note, in a real shop the item's files beside them. */
export function packageOf(purchase: Purchase): PackageFile {
  const { item } = purchase;
  const bought = new Date(purchase.date);
  const modified = Number.isNaN(bought.getTime()) ? new Date(0) : bought;
  const base = [slug(nameOfItem(item)) || `item-${item.id}`, item.version]
    .filter(Boolean)
    .join('-');
  const file = (name: string, lines: readonly string[]) => ({
    name: `${base}/${name}`,
    content: Buffer.from(`${lines.join('\r\n')}\r\n`),
    modified,
  });
  return {
    name: `${base}.zip`,
    content: zip([file('LICENCE.txt', licence(purchase)), file('READ ME.txt', note(purchase))]),
  };
}

const licence = (purchase: Purchase): string[] => [
  `LICENCE CERTIFICATE`,
  '',
  `Item:             ${nameOfItem(purchase.item)} (number ${purchase.item.id})`,
  `Version:          ${purchase.item.version ?? 'not stated'}`,
  `Kind of licence:  ${purchase.license_type ?? 'not stated'}`,
  `Bought on:        ${purchase.date?.slice(0, 10) ?? 'not stated'}`,
  `Support until:    ${purchase.supported_until?.slice(0, 10) ?? 'over, or not included'}`,
  // The end of it is enough to find the receipt; the whole would let in whoever gets this file.
  `Purchase code:    ends in ${purchase.purchase_code.slice(-4)}`,
];

const note = ({ item }: Purchase): string[] => [
  `Thank you for buying ${nameOfItem(item)}.`,
  '',
  ...(item.description ? [item.description, ''] : []),
  ...(item.options?.length ? [`Comes as: ${item.options.join(', ')}`] : []),
];

/** A name that every file system takes: "Birch and Bone icons" becomes "birch-and-bone-icons". */
const slug = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60);
