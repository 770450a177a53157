import { KeyApi, type KeyApiOptions, type MarketgateErrorCode } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { Agent } from 'undici';

/** A record of the documented shape, as JSON. */
export type Documented = Readonly<Record<string, unknown>>;

/** When the support of the purchase whose support is over ended. */
export const SUPPORT_OVER = '2026-03-01T12:00:00Z';

/** api_keys, by what belongs to them. */
const KEYS = {
  /** The first workspace: many items of every kind. */
  many: '',
  /** The second one: some other items. */
  other: '',
  one: '1'.repeat(64),
  none: '0'.repeat(64),
  wrong: 'f'.repeat(64),
};

const NOW = Date.UTC(2026, 10, 21, 10);
const BASE_CODE = '00000000-0000-4000-8000-00000000000';

/** An answer of the service as it stands by itself. */
interface Body {
  readonly data?: Documented & { readonly purchase?: Documented };
  readonly items?: Documented[];
  readonly item?: Documented;
}

/** A sandbox with all that the cases ask about, and what it says by the specification's word. */
export type KeyApiWorld = Awaited<ReturnType<typeof openKeyApiWorld>>;

export async function openKeyApiWorld() {
  const seed = createSandbox({ clock: () => NOW }).data;
  const [first] = seed.workspaces;
  // One of each kind, and few: each is compared in every setting.
  const items = seed.items.filter(({ id }) => [1042, 1043, 1044, 1049, 1054].includes(id));
  const [item] = items;
  if (first === undefined || item === undefined) throw new Error('the sandbox has no seed');
  const sandbox = createSandbox({
    clock: () => NOW,
    seed: {
      workspaces: [
        ...seed.workspaces,
        { ...first, id: 'one', api_key: KEYS.one },
        { ...first, id: 'none', api_key: KEYS.none },
      ],
      items: [...items, { ...item, id: 9001, workspace: 'one' }],
    },
  });
  const { baseUrl } = await sandbox.listen();
  const agent = new Agent();
  const keys = { ...KEYS };
  keys.many = sandbox.data.workspaces[0]?.api_key ?? '';
  keys.other = sandbox.data.workspaces[1]?.api_key ?? '';

  const sell = (n: number, given: object = {}): string => {
    const purchase_code = `${BASE_CODE}${n}`;
    sandbox.data.addPurchase({ item_id: 1042, purchase_code, ...given });
    return purchase_code;
  };
  const codes = {
    supported: sell(1),
    supportOver: sell(2, { supported_until: SUPPORT_OVER }),
    refunded: sell(3),
    deletedItem: sell(4, { item_id: 1044 }),
  };
  sandbox.data.refundPurchase(codes.refunded);
  sandbox.data.deleteItem(1044);

  const read = async (path: string, parameters: Record<string, string>, method = 'GET') => {
    const query = new URLSearchParams({ api_key: keys.many, ...parameters });
    const response = await fetch(`${baseUrl}${path}?${query}`, { method });
    return (await response.json()) as Body;
  };
  const validated = async (purchase_code: string): Promise<Documented> =>
    (await read('/api/purchases/validation', { purchase_code }, 'POST')).data?.purchase ?? {};
  return {
    sandbox,
    agent,
    codes,
    /** Answers of the service as it stands by itself, read without the client. */
    documented: {
      account: (await read('/api/account/details', {})).data ?? {},
      otherAccount: (await read('/api/account/details', { api_key: keys.other })).data ?? {},
      items: (await read('/api/items/all', {})).items ?? [],
      oneItem: (await read('/api/items/all', { api_key: keys.one })).items ?? [],
      item: (await read('/api/items/item', { item_id: '1042' })).item ?? {},
      audio: (await read('/api/items/item', { item_id: '1054' })).item ?? {},
      supported: await validated(codes.supported),
      supportOver: await validated(codes.supportOver),
      deletedItem: await validated(codes.deletedItem),
    },
    /** A client of its own for each case: no pause or breaker of another case stands in its way. */
    client: (key: keyof typeof KEYS, options: Partial<KeyApiOptions>) =>
      new KeyApi({
        baseUrl,
        apiKey: keys[key],
        retries: 0,
        // Small, for each case has one of its own.
        cache: { max: 50, maxInvalid: 50 },
        clock: sandbox.clock,
        dispatcher: agent,
        ...options,
      }),
    async close() {
      await agent.close();
      await sandbox.close();
    },
  };
}

/** One question to the client, and what the specification and the contract say that it ends in. */
export interface KeyApiCase {
  readonly name: string;
  readonly key: keyof typeof KEYS;
  readonly ask: (client: KeyApi, world: KeyApiWorld) => Promise<unknown>;
  /** The documented answer, or how it ends without one. */
  readonly ends:
    | { readonly documented: keyof KeyApiWorld['documented'] }
    | 'negative'
    | 'TypeError'
    | MarketgateErrorCode;
}

const answer = (documented: keyof KeyApiWorld['documented']) => ({ documented });

const of = (
  name: string,
  ask: KeyApiCase['ask'],
  ends: KeyApiCase['ends'],
  key: keyof typeof KEYS = 'many',
): KeyApiCase => ({ name, ask, ends, key });

const UNKNOWN = '11111111-2222-4333-8444-555555555555';
const REJECTED = 'api_key_rejected';

const account: KeyApiCase['ask'] = (c) => c.getAccount();
const items: KeyApiCase['ask'] = (c) => c.listItems();
const item =
  (id: number | string): KeyApiCase['ask'] =>
  (c) =>
    c.getItem(id);
const code =
  (name: keyof KeyApiWorld['codes'], pasted = (known: string) => known): KeyApiCase['ask'] =>
  (c, { codes }) =>
    c.validatePurchase(pasted(codes[name]));
const unknown: KeyApiCase['ask'] = (c) => c.validatePurchase(UNKNOWN);
const blanks = (known: string): string => `  ${known}\u200b\n`;

/** Every method of the client, with every answer that the specification and the notes know. */
export const KEY_API_CASES: readonly KeyApiCase[] = [
  of('getAccount', account, answer('account')),
  of('getAccount, other', account, answer('otherAccount'), 'other'),
  of('getAccount, wrong api_key', account, REJECTED, 'wrong'),

  of('listItems', items, answer('items')),
  of('listItems, one item', items, answer('oneItem'), 'one'),
  of('listItems, no items', items, 'negative', 'none'),
  of('listItems, wrong api_key', items, REJECTED, 'wrong'),

  of('getItem, hit', item(1042), answer('item')),
  of('getItem, audio', item('1054'), answer('audio')),
  of('getItem, miss', item(7), 'negative'),
  of("getItem, another author's", item(9001), 'negative'),
  of('getItem, deleted', item(1044), 'negative'),
  of('getItem, wrong api_key', item(1042), REJECTED, 'wrong'),

  of('validatePurchase', code('supported'), answer('supported')),
  of('validatePurchase, with blanks', code('supported', blanks), answer('supported')),
  of('validatePurchase, support over', code('supportOver'), answer('supportOver')),
  of('validatePurchase, item deleted', code('deletedItem'), answer('deletedItem')),
  of('validatePurchase, unknown', unknown, 'negative'),
  of('validatePurchase, refunded', code('refunded'), 'negative'),
  of("validatePurchase, another author's", code('supported'), 'negative', 'other'),
  of('validatePurchase, wrong api_key', code('supported'), REJECTED, 'wrong'),
  of('validatePurchase, unknown, wrong api_key', unknown, REJECTED, 'wrong'),
  of('validatePurchase, a blank code', (c) => c.validatePurchase(' \u200b '), 'TypeError'),
];
