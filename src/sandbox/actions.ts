import * as z from 'zod/mini';
import { DAY } from './clock.js';
import type { SandboxContext } from './context.js';
import { examine, findOrThrow, firstCredentials } from './data/sandbox-data.js';
import { parseOrThrow, RECORDS } from './data/schema.js';
import { callbackUrl } from './login-api/oauth.js';
import { changeSwitches, switchValues } from './switches.js';

/** Something that the console, the JSON API and the command line do to a sandbox that runs. */
export interface Action {
  /** What it does, in a few words. */
  readonly about: string;
  /** The names of its fields, the required ones first; an optional one ends with `?`. */
  readonly fields: readonly string[];
  /** Whether it only reads, so that the API also takes it as a GET. */
  readonly isReading: boolean;
  /** @throws TypeError that names what is wrong with the fields. */
  readonly run: (context: SandboxContext, given: unknown) => unknown;
}

type Shape = Readonly<Record<string, z.ZodMiniType>>;

/** A form and the command line send text: a number, a list or a yes becomes what its field takes. */
function typed(shape: Shape, given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  const read = ([name, value]: [string, unknown]): [string, unknown] => {
    if (typeof value !== 'string' || shape[name]?.safeParse(value).success !== false)
      return [name, value];
    try {
      return [name, JSON.parse(value)];
    } catch {
      return [name, value];
    }
  };
  return Object.fromEntries(Object.entries(given).map(read));
}

function action<S extends Shape>(
  about: string,
  shape: S,
  run: (context: SandboxContext, given: z.infer<z.ZodMiniObject<S>>) => unknown,
  isReading = false,
): Action {
  const fields = Object.entries(shape).map(([name, type]) =>
    type.safeParse(undefined).success ? `${name}?` : name,
  );
  const schema = z.strictObject(shape);
  return {
    ...{ about, fields, isReading },
    run: (context, given) =>
      run(context, parseOrThrow(schema, typed(shape, given), 'fields') as never),
  };
}

const reading = (about: string, run: (context: SandboxContext) => unknown): Action =>
  action(about, {}, run, true);

/** Does something to a purchase, and tells what its code is then. */
const toPurchase = (about: string, change: (context: SandboxContext, code: string) => void) =>
  action(about, { purchase_code: z.string() }, (context, { purchase_code }) => {
    change(context, purchase_code);
    return codeNow(context, purchase_code);
  });

/** A code with what the service answers for it now. */
const codeNow = ({ data, clock }: SandboxContext, code: string) =>
  examine(data, findOrThrow(data.purchases, 'purchase_code', code), clock.now()).code;

/** The fields of a record that need not be given. */
const optional = <S extends Shape>(fields: S) => z.partial(z.object(fields)).shape;

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: DAY };
const DURATION = /^(-?\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** `90s`, `-1d`, or a number of milliseconds. */
const duration = z.union([
  z.number(),
  z.string().check(z.regex(DURATION, 'expected a duration as in 90s, 1h or -1d')),
]);

function millisecondsOf(given: string | number): number {
  const [, count, unit] = DURATION.exec(String(given)) ?? [];
  return unit ? Number(count) * UNITS[unit as keyof typeof UNITS] : Number(given);
}

const { item_id, supported_until, ...sold } = RECORDS.purchases.shape;
const { user_name, ...user } = RECORDS.users.shape;
const { name: app_name, ...app } = RECORDS.apps.shape;
const { name: item_name, ...item } = RECORDS.items.shape;

/**
 * Every action, by its name: a form of the console, `POST /sandbox/api/NAME` and `marketgate sandbox NAME` are the same.
 * The JSON that they give has snake case names, as the service's has.
 */
export const ACTIONS: Readonly<Record<string, Action>> = {
  'accept-login': action(
    'accept a login for a user: gives the callback URL with its auth_key',
    { user_id: z.string(), app_id: z.optional(z.string()), state: z.optional(z.string()) },
    (context, { user_id, app_id, state }) => ({
      url: acceptLogin(context, user_id, app_id, state),
    }),
  ),
  'add-purchase': action(
    'sell an item: gives a new code; support is ahead, over or none',
    {
      item_id,
      support: z.optional(z.enum(['ahead', 'over', 'none'])),
      supported_until: z.nullable(supported_until),
      ...optional(sold),
    },
    (context, { support, ...fields }) => {
      const over = { supported_until: context.clock.now() - DAY };
      const sale = context.data.addPurchase({
        ...fields,
        ...(support === 'none' ? { supported_until: null } : support === 'over' ? over : {}),
      });
      return codeNow(context, sale.purchase_code);
    },
  ),
  renew: toPurchase('renew the support of a purchase for half a year', ({ data }, code) =>
    data.renewSupport(code),
  ),
  'end-support': toPurchase('end the support of a purchase', ({ data, clock }, code) =>
    data.setSupportedUntil(code, clock.now() - 1000),
  ),
  refund: toPurchase('refund a purchase', ({ data }, code) => data.refundPurchase(code)),
  unrefund: toPurchase('take a refund back', ({ data }, code) => data.unrefundPurchase(code)),
  codes: reading('list all codes with what the service answers for them', ({ data, clock }) =>
    data.purchases.map((each) => examine(data, each, clock.now()).code),
  ),
  'add-user': action(
    'add somebody who can log in',
    { user_name, ...optional(user) },
    ({ data }, fields) => data.addUser(fields),
  ),
  'add-app': action(
    'register an app: gives its app_id and app_secret',
    { name: app_name, ...optional(app) },
    ({ data }, fields) => data.addApp(fields),
  ),
  'set-redirect': action(
    'set where the logins of an app lead back to; without a URL, nowhere',
    { app_id: z.string(), redirect_url: z.optional(z.string()) },
    ({ data }, { app_id, redirect_url }) =>
      data.setRedirectUrl(app_id, redirect_url?.trim() || undefined),
  ),
  'add-item': action(
    'add an item to the catalogue',
    { name: item_name, ...optional(item) },
    ({ data }, fields) => data.addItem(fields),
  ),
  'rotate-key': action(
    'make a new api_key for a workspace: the old one is rejected',
    { workspace: z.string() },
    ({ data }, { workspace }) => ({ api_key: data.rotateApiKey(workspace) }),
  ),
  clock: action(
    'move the clock by a duration, as in advance=1h or advance=-30d, or to a time; reset=true sets it right; without any, read it',
    {
      advance: z.optional(duration),
      set: z.optional(z.iso.datetime({ offset: true })),
      reset: z.optional(z.boolean()),
    },
    ({ clock }, { advance, set, reset }) => {
      if (reset) clock.reset();
      if (set !== undefined) clock.set(Date.parse(set));
      if (advance !== undefined) clock.advance(millisecondsOf(advance));
      return { now: new Date(clock.now()).toISOString() };
    },
  ),
  show: reading('tell which switches are on', switchValues),
  set: {
    about: 'set faults and differences of dialect',
    fields: ['switch=value'],
    isReading: false,
    run(context, changes) {
      changeSwitches(context, changes);
      return switchValues(context);
    },
  },
  reset: action(
    'reset switches by name, or all of: faults, dialect, data, clock, requests; without names, all switches',
    { names: z.optional(z.array(z.string())) },
    (context, { names = ['faults', 'dialect'] }) => {
      const others: Record<string, () => void> = {
        data: () => context.data.reset(),
        clock: () => context.clock.reset(),
        requests: () => context.record.clear(),
      };
      const switches = names.filter((name) => !Object.hasOwn(others, name));
      changeSwitches(context, Object.fromEntries(switches.map((name) => [name, null])));
      for (const name of names) others[name]?.();
      return switchValues(context);
    },
  ),
  requests: reading('export the request log, with bodies, without secrets', ({ record }) =>
    record.list(),
  ),
  export: reading('export the data, with their secrets, as --seed takes them', ({ seed }) => seed),
};

/**
 * Where the browser goes after a login was accepted in a user's name.
 * @throws TypeError where there is no such user or app, or the app has no redirect URL.
 */
export function acceptLogin(
  context: SandboxContext,
  userId: string,
  appId = firstCredentials(context.data).appId,
  state?: string,
): string {
  const app = findOrThrow(context.data.apps, 'app_id', appId);
  findOrThrow(context.data.users, 'user_id', userId);
  if (app.redirect_url === undefined) {
    throw new TypeError(
      'acceptLogin: the app has no redirect URL; register one with sandbox.data.setRedirectUrl(appId, url) or "marketgate sandbox set-redirect", or for the first app with the option redirectUrl',
    );
  }
  return callbackUrl(context, app, userId, state);
}
