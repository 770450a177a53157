import * as z from 'zod/mini';
import { acceptLogin } from './callback.js';
import { DAY, readDuration } from './clock.js';
import type { SandboxContext } from './context.js';
import { codeOf, findOrThrow, type SandboxCode } from './data.js';
import { parseOrThrow, RECORDS } from './schema.js';
import { changeSwitches, meantBy, readSwitches, switchesSaid, switchValues } from './switches.js';

/** Where the JSON API of a sandbox is. */
export const API = '/sandbox/api';

/** On every answer, so that the command line knows a sandbox. In lower case. */
export const SANDBOX_HEADER = 'x-marketgate-sandbox';

/** Something that the console, the JSON API and the command line do to a sandbox that runs. */
export interface Action {
  /** What it does, in a few words. */
  readonly about: string;
  /** The names of its fields, the required ones first; an optional one ends with `?`. */
  readonly fields: readonly string[];
  /** Whether it only reads, so that the API also takes it as a GET. */
  readonly isReading: boolean;
  /** @throws TypeError that names what is wrong with the fields. */
  readonly run: (context: SandboxContext, given: unknown) => object;
  /** What people read of a result. Without it they get the result, which only some of those that read have. */
  readonly says?: (result: never) => string;
  /** The field of the result that a script wants. */
  readonly value?: string;
  /** How a command gives its fields, where that is not `field=value`. */
  readonly list?: { readonly takes: string; readonly read: (given: readonly string[]) => object };
}

type Shape = Readonly<Record<string, z.ZodMiniType>>;

/** A form and the command line send text: a number, a list or a yes becomes what its field takes. */
function typed(shape: Shape, given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  const read = ([name, value]: [string, unknown]) => [
    name,
    shape[name]?.safeParse(value).success === false ? meantBy(value) : value,
  ];
  return Object.fromEntries(Object.entries(given).map(read));
}

/** An action on these fields. */
function action<S extends Shape, R extends object>(
  about: string,
  shape: S,
  run: (context: SandboxContext, given: z.infer<z.ZodMiniObject<S>>) => R,
  more: { readonly says?: (result: R) => string } & Partial<Omit<Action, 'says'>> = {},
): Action {
  const fields = Object.entries(shape).map(([name, type]) =>
    type.safeParse(undefined).success ? `${name}?` : name,
  );
  const schema = z.strictObject(shape);
  return {
    ...{ about, fields, isReading: false },
    run: (context, given) =>
      run(context, parseOrThrow(schema, typed(shape, given), 'fields') as never),
    ...more,
  };
}

/** When an app notices what became of a purchase. */
const NOTICED =
  'An app that has this code in its cache notices from the second visit once 5 minutes have passed, from the first once 65 have (by the defaults of marketgate), or at once if it asks again: keyApi.invalidate(code), or the option fresh of its guard.';
const NOTICED_SOON = 'An app that was told no asks again after 30 seconds.';

/** All codes with what the service answers for them now. */
export const codesOf = ({ data, clock }: Pick<SandboxContext, 'data' | 'clock'>): SandboxCode[] =>
  data.purchases.map((each) => codeOf(data, each, clock.now()));

/** Codes with what they are now, one a line. */
export const codesSaid = (codes: readonly SandboxCode[]): string =>
  codes
    .map(({ code, state, item_id, license_type, description }) =>
      [code, state.padEnd(15), item_id, license_type.padEnd(8), description].join('  '),
    )
    .join('\n');

const said = ({ item_name, item_id, description }: SandboxCode): string =>
  `${item_name} (${item_id}): ${description}`;

/** Does something to a purchase, and says what its code is then, and when an app notices. */
const toPurchase = (
  about: string,
  change: (context: SandboxContext, code: string) => void,
  noticed = NOTICED,
): Action =>
  action(
    about,
    { purchase_code: z.string() },
    (context, { purchase_code }) => {
      const code = purchase_code.trim();
      const { data, clock } = context;
      change(context, code);
      return codeOf(data, findOrThrow(data.purchases, 'purchase_code', code), clock.now());
    },
    { says: (code) => `${said(code)} ${noticed}` },
  );

/** The fields of a record that need not be given. */
const optional = <S extends Shape>(fields: S) => z.partial(z.object(fields)).shape;

const A_DURATION = 'expected a duration with its unit, as in 90s, 1h or -1d';
const duration = z
  .string(A_DURATION)
  .check(z.refine((text) => readDuration(text) !== undefined, A_DURATION));

const { item_id, supported_until, ...sold } = RECORDS.purchases.shape;
const { user_name, ...user } = RECORDS.users.shape;
const { name: app_name, ...app } = RECORDS.apps.shape;
const { name: item_name, ...item } = RECORDS.items.shape;

const RESETS = ['faults', 'dialect', 'data', 'clock', 'requests'] as const;
const SWITCH_GROUPS: Reset[] = ['faults', 'dialect'];
type Reset = (typeof RESETS)[number];
const NO_RESET = `expected ${RESETS.join(', ')}, or a list of these`;

/**
 * Every action, by its name: a form of the console, `POST /sandbox/api/NAME` and `marketgate sandbox NAME` are the same.
 * The JSON that they give has snake case names, as the service's has.
 */
export const ACTIONS: Readonly<Record<string, Action>> = {
  codes: action('list all codes with what the service answers for them', {}, codesOf, {
    isReading: true,
    says: codesSaid,
  }),
  'add-purchase': action(
    'sell an item: gives a new code; support is ahead, over or none',
    {
      item_id,
      support: z.optional(z.enum(['ahead', 'over', 'none'])),
      supported_until,
      ...optional(sold),
    },
    ({ data, clock }, { support, ...fields }) => {
      const until = { ahead: undefined, over: clock.now() - DAY, none: null }[support ?? 'ahead'];
      const supported_until = fields.supported_until ?? until;
      return codeOf(data, data.addPurchase({ ...fields, supported_until }), clock.now());
    },
    { says: said, value: 'code' },
  ),
  renew: toPurchase('renew the support of a purchase for half a year', ({ data }, code) =>
    data.renewSupport(code),
  ),
  refund: toPurchase('refund a purchase', ({ data }, code) => data.refundPurchase(code)),
  unrefund: toPurchase(
    'take a refund back',
    ({ data }, code) => data.unrefundPurchase(code),
    NOTICED_SOON,
  ),
  'accept-login': action(
    'accept a login for a user: gives the callback URL with its auth_key',
    { user_id: z.string(), app_id: z.optional(z.string()), state: z.optional(z.string()) },
    (context, { user_id, app_id, state }) => ({
      url: acceptLogin(context, user_id, app_id, state),
    }),
    {
      says: () => 'Open it in the browser that began the login in the app, or with its cookies.',
      value: 'url',
    },
  ),
  'set-redirect': action(
    'set where the logins of an app lead back to; without a URL, nowhere',
    { app_id: z.string(), redirect_url: z.optional(z.string()) },
    ({ data }, { app_id, redirect_url }) => {
      const url = redirect_url?.trim() || undefined;
      data.setRedirectUrl(app_id, url);
      return { name: findOrThrow(data.apps, 'app_id', app_id).name, redirect_url: url };
    },
    {
      says: ({ name, redirect_url = 'nowhere' }) => `${name}: logins lead back to ${redirect_url}`,
    },
  ),
  'rotate-key': action(
    'make a new api_key for a workspace: the old one is rejected',
    { workspace: z.string() },
    ({ data }, { workspace }) => ({ api_key: data.rotateApiKey(workspace) }),
    {
      says: () => 'The old api_key is rejected from now on. Give your app the new one.',
      value: 'api_key',
    },
  ),
  'add-user': action(
    'add somebody who can log in',
    { user_name, ...optional(user) },
    ({ data }, fields) => data.addUser(fields),
    {
      says: ({ user_name, user_id }) => `${user_name} can log in, with the user_id ${user_id}`,
      value: 'user_id',
    },
  ),
  'add-app': action(
    'register an app: gives its app_id and app_secret',
    { name: app_name, ...optional(app) },
    ({ data }, fields) => data.addApp(fields),
    {
      says: ({ name, app_id, app_secret }) => `${name}: app_id ${app_id}, app_secret ${app_secret}`,
    },
  ),
  'add-item': action(
    'add an item to the catalogue',
    { name: item_name, ...optional(item) },
    ({ data }, fields) => data.addItem(fields),
    { says: ({ name, id }) => `${name} is item ${id}`, value: 'id' },
  ),
  clock: action(
    'move the clock by a duration, as in advance=1h or advance=-30d, or to a time; reset=true resets it; without any, read it',
    {
      advance: z.optional(duration),
      set: z.optional(z.iso.datetime({ offset: true })),
      reset: z.optional(z.boolean()),
    },
    ({ clock }, { advance, set, reset }) => {
      if (reset) clock.reset();
      if (set !== undefined) clock.set(Date.parse(set));
      if (advance !== undefined) clock.advance(readDuration(advance) ?? 0);
      return { now: new Date(clock.now()).toISOString() };
    },
    {
      says: ({ now }) =>
        `The sandbox’s clock shows ${now}. An app follows if its clients were made with sandbox.clock, as in "marketgate demo".`,
      value: 'now',
    },
  ),
  show: action('tell which switches are on', {}, switchValues, {
    says: switchesSaid,
    isReading: true,
  }),
  set: {
    about: 'set faults and differences of dialect',
    fields: ['switch=value'],
    isReading: false,
    run(context, changes) {
      changeSwitches(context, changes);
      return switchValues(context);
    },
    says: switchesSaid,
    list: { takes: '<switch...>', read: readSwitches },
  },
  reset: action(
    `reset what is named, of ${RESETS.join(', ')}; without names, all switches`,
    { names: z.optional(z.union([z.enum(RESETS), z.array(z.enum(RESETS))], NO_RESET)) },
    (context, { names = SWITCH_GROUPS }) => {
      const resets: Record<Reset, () => void> = {
        faults: () => context.faults.clear(),
        dialect: () => changeSwitches(context, { dialect: null }),
        data: () => context.data.reset(),
        clock: () => context.clock.reset(),
        requests: () => context.record.clear(),
      };
      const reset: Reset[] = [names].flat();
      for (const name of reset) resets[name]();
      return { reset, ...switchValues(context) };
    },
    {
      says({ reset, ...values }) {
        const data = reset.includes('data') ? ` All logins are over. ${NOTICED}` : '';
        return `Reset: ${reset.join(', ')}. ${switchesSaid(values)}${data}`;
      },
      list: { takes: '[name...]', read: (names) => (names.length > 0 ? { names } : {}) },
    },
  ),
  requests: action(
    'export the request log, with bodies, without secrets',
    {},
    ({ record }) => record.list(),
    { isReading: true },
  ),
  export: action(
    'export the data, with their secrets, as --seed takes them',
    {},
    ({ data }) => ({ ...data }),
    { isReading: true },
  ),
};
