import type { Item } from 'marketgate';

/** What a visitor asked to see of the catalogue. */
export interface Wish {
  readonly search: string;
  readonly tag: string;
  /** From 1. */
  readonly page: number;
}

/** One page of what was found. */
export interface Shelf extends Wish {
  readonly items: readonly Item[];
  /** How many were found on all pages. */
  readonly found: number;
  /** At least 1. */
  readonly pages: number;
}

/** A tag with how many items have it. */
export interface Tag {
  readonly name: string;
  readonly count: number;
}

const PAGE_SIZE = 6;
const LONGEST = 80;

/** Reads the query. Everything in it is a stranger's: given twice, as an object, far too long. */
export function wishOf(query: Readonly<Record<string, unknown>>): Wish {
  const text = (value: unknown) =>
    typeof value === 'string' ? value.trim().slice(0, LONGEST) : '';
  const page = /^\d{1,6}$/.test(text(query.page)) ? Number(query.page) : 1;
  return { search: text(query.q), tag: text(query.tag).toLowerCase(), page: Math.max(1, page) };
}

/** Letters as people search them: "cafe" finds "Café". */
const plain = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

/** Which fields are there depends on the marketplace: only `id` and `name` are certain. */
const textOf = ({ name, description, category, sub_category, tags = [] }: Item): string =>
  plain([name, description, category, sub_category, ...tags].filter(Boolean).join(' '));

/** What was asked for. A page beyond the last is the last. */
export function browse(items: readonly Item[], wish: Wish): Shelf {
  const words = plain(wish.search).split(/\s+/).filter(Boolean);
  const all = items.filter((item) => {
    if (wish.tag && !item.tags?.some((tag) => tag.toLowerCase() === wish.tag)) return false;
    const text = words.length > 0 ? textOf(item) : '';
    return words.every((word) => text.includes(word));
  });
  const pages = Math.max(1, Math.ceil(all.length / PAGE_SIZE));
  const page = Math.min(wish.page, pages);
  const start = (page - 1) * PAGE_SIZE;
  return { ...wish, page, pages, found: all.length, items: all.slice(start, start + PAGE_SIZE) };
}

/** The tags that most items have, for a row of links. */
export function commonTags(items: readonly Item[], most = 12): Tag[] {
  const counts = new Map<string, number>();
  for (const { tags = [] } of items) {
    for (const tag of new Set(tags.map((each) => each.toLowerCase()))) {
      counts.set(tag, (counts.get(tag) ?? 0) + 1);
    }
  }
  return [...counts]
    .map(([name, count]) => ({ name, count }))
    .sort((a, b) => b.count - a.count || a.name.localeCompare(b.name))
    .slice(0, most);
}

/** The address of a page of the catalogue, without what is at its default. */
export function linkTo({ search, tag, page }: Partial<Wish>): string {
  const query = new URLSearchParams();
  if (search) query.set('q', search);
  if (tag) query.set('tag', tag);
  if (page !== undefined && page > 1) query.set('page', String(page));
  return query.size > 0 ? `/?${query}` : '/';
}
