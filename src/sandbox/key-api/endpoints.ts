import type { Request, RequestHandler, Response, Router } from 'express';
import express from 'express';
import type { SandboxContext } from '../context.js';
import type { SeedItem } from '../data/schema.js';
import { faultsBeforeAnswer, sendAnswer, sendErrorPage } from '../faults.js';
import { mediaOf } from '../media.js';
import {
  bodyParameters,
  form,
  interfaceOf,
  multipart,
  originOf,
  queryParameters,
  Refused,
  refuseMethod,
} from '../request.js';
import type { SandboxDialect } from '../switches.js';

/** Each endpoint with its documented `msg` (spec, "Errors") and the HTTP status that was seen with it. */
const ENDPOINTS = [
  ['get', '/api/account/details', accountDetails, 401, 'Invalid request'],
  ['get', '/api/items/all', itemsAll, 404, 'No items found'],
  ['get', '/api/items/item', itemsItem, 404, 'Item Not Found'],
  ['post', '/api/purchases/validation', purchasesValidation, 404, 'Invalid purchase code'],
] as const;

/** The key API of the specification, under {base_url}. */
export function keyApiRouter(context: SandboxContext): Router {
  const { dialect } = context;
  const router = express.Router();
  const front = [faultsBeforeAnswer(context), deployment(context)];
  const bodies: RequestHandler[] = [express.json(), form, ...multipart];
  for (const [method, path, answer, status, msg] of ENDPOINTS) {
    router[method](path, ...front, ...(method === 'post' ? bodies : []), (req, res) => {
      const payload = answer(callOf(context, req));
      if (payload) {
        const success = { status: localised('success', dialect), ...payload };
        return sendAnswer(res, 200, JSON.stringify(success));
      }
      const isCapitalised = dialect.capitalisation && answer === itemsAll;
      const sent = isCapitalised ? 'No Items Found' : msg;
      sendRefusal(res, dialect, dialect.errorStatus === 'ok' ? 200 : status, sent);
    });
    router.all(path, ...front, (_req, res) => refuseMethod(res, method.toUpperCase()));
  }
  router.use((req, res, next) => {
    const isDisabled = dialect.apiDisabled && interfaceOf(req.path) === 'key-api';
    if (isDisabled) sendFrameworkError(req, res, 404, 'Not Found', 'html');
    else next();
  });
  return router;
}

const BROWSER = /Mozilla|Chrome|Firefox|Edge|Opera/;
const MINUTE = 60_000;

/**
 * What stands in front of the key API on real deployments (field notes): a switched-off API, a gateway, a crash, a
 * rate limit per client address, and the redirect of browsers.
 */
function deployment({ dialect, clock, counts }: SandboxContext): RequestHandler {
  let windowStart = 0;

  /** Counts a request, and says whether it is within the limit. */
  const isWithinLimit = (req: Request, res: Response, limit: number): boolean => {
    const now = clock.now();
    const address = req.socket.remoteAddress ?? '';
    if (counts.requests.size === 0 || now < windowStart || now >= windowStart + MINUTE) {
      windowStart = now;
      counts.requests.clear();
    }
    const count = (counts.requests.get(address) ?? 0) + 1;
    counts.requests.set(address, count);
    res.setHeader('X-RateLimit-Limit', limit);
    res.setHeader('X-RateLimit-Remaining', Math.max(0, limit - count));
    if (count <= limit) return true;
    const reset = Math.ceil((windowStart + MINUTE - now) / 1000);
    res.setHeader('Retry-After', reset);
    res.setHeader('X-RateLimit-Reset', Math.ceil(now / 1000) + reset);
    return false;
  };

  return (req, res, next) => {
    const { apiDisabled, gatewayErrors, crash, rateLimit, browserRedirect } = dialect;
    if (apiDisabled) return sendFrameworkError(req, res, 404, 'Not Found', 'html');
    if (gatewayErrors !== false) {
      const status = gatewayErrors === true ? 404 : gatewayErrors;
      return sendAnswer(res, status, JSON.stringify(GATEWAY_ERRORS[status]));
    }
    if (crash !== false) return sendFrameworkError(req, res, 500, 'Server Error', crash);
    const limit = rateLimit === true ? 60 : rateLimit;
    if (limit !== false && !isWithinLimit(req, res, limit)) {
      return sendFrameworkError(req, res, 429, 'Too Many Attempts.');
    }
    if (browserRedirect && BROWSER.test(req.headers['user-agent'] ?? '')) {
      return void res.writeHead(302, { Location: '/' }).end();
    }
    next();
  };
}

/** What gateways and frameworks send with these statuses, each in its own form. */
const GATEWAY_ERRORS = {
  404: { msg: 'Page not found' },
  405: { code: 405, msg: 'Method not allowed' },
  413: { code: 413, msg: 'Request entity too large' },
  415: { code: 415, msg: 'Unsupported media type' },
};

/** Frameworks answer their own errors as HTML, or as `{message}` to clients that accept JSON (`true`). */
function sendFrameworkError(
  req: Request,
  res: Response,
  status: number,
  message: string,
  format: true | 'html' | 'json' = true,
): void {
  const isJson = format === true ? req.headers.accept?.includes('/json') : format === 'json';
  if (isJson) sendAnswer(res, status, JSON.stringify({ message }));
  else sendErrorPage(res, status, `${status}`, message);
}

/** A request for an endpoint of the key API. */
type Call = ReturnType<typeof callOf>;

/** Reads a request. Parameters come in the query, a form, a multipart body or a JSON object. */
function callOf({ data, dialect, clock }: SandboxContext, req: Request) {
  const parameters = { ...queryParameters(req), ...bodyParameters(req) };
  /** Reads a required parameter. @throws Refused with the service's validation sentence. */
  const required = (name: string): string => {
    const label = name.replaceAll('_', ' ');
    const given = parameters[name] ?? '';
    if (typeof given !== 'string') throw new Refused(400, `The ${label} must be a string.`);
    const value = dialect.trimming ? given.trim() : given;
    if (value === '') throw new Refused(400, `The ${label} field is required.`);
    return value;
  };
  const key = required('api_key');
  /** Whose api_key it carries; `undefined` for a key that nobody has. */
  const workspace = data.workspaces.find(({ api_key }) => api_key === key);
  /** What belongs to that account, deleted items too. No operation reads others. */
  const items = data.items.filter((item) => item.workspace === workspace?.id);
  return { data, dialect, clock, workspace, items, origin: originOf(req), required };
}

/** What stands in a successful answer; `undefined` for the documented error. */
type Payload = object | undefined;

/** GET /api/account/details → `{status, data: Account}`. */
function accountDetails({ workspace, data, dialect, origin }: Call): Payload {
  if (!workspace) return undefined;
  const { id, api_key, profile, ...account } = workspace;
  const media = `${origin}/media/accounts/${encodeURIComponent(id)}`;
  const links = Object.keys(profile.social_links).map((name) => [name, null]);
  const nulls = {
    heading: null,
    description: null,
    contact: { email: null },
    // Both have been seen: no object at all, and an object of nulls.
    social_links: workspace === data.workspaces[0] ? null : Object.fromEntries(links),
  };
  return {
    data: {
      ...account,
      balance: amountOf(account.balance, dialect),
      profile: {
        ...profile,
        ...(dialect.nulls && nulls),
        media: { avatar: `${media}/avatar.svg`, cover: `${media}/cover.svg`, ...profile.media },
      },
      registered_at: timeOf(account.registered_at, dialect),
    },
  };
}

/** GET /api/items/all → `{status, items: Item[]}`: the whole catalogue, newest first (field notes). */
function itemsAll(call: Call): Payload {
  const items = call.items
    .filter((item) => !item.deleted)
    .sort((a, b) => Date.parse(b.published_at) - Date.parse(a.published_at));
  const isNone = items.length === 0 || (items.length === 1 && call.dialect.singleItemBug);
  return isNone ? undefined : { items: items.map((item) => itemOf(item, call)) };
}

/** GET /api/items/item → `{status, item: Item}`. */
function itemsItem(call: Call): Payload {
  const wanted = call.required('item_id');
  if (!/^-?\d+$/.test(wanted)) throw new Refused(400, 'The item id must be an integer.');
  const item = call.items.find(({ id, deleted }) => id === Number(wanted) && !deleted);
  return item && { item: itemOf(item, call) };
}

/**
 * POST /api/purchases/validation → `{status, data: {purchase: Purchase}}`. "Invalid purchase code" is also the answer
 * to a wrong api_key, another author's code, and a refunded or cancelled purchase.
 */
function purchasesValidation(call: Call): Payload {
  const { data, dialect, clock, items } = call;
  const code = call.required('purchase_code');
  const found = data.purchases.find(({ purchase_code }) => purchase_code === code);
  const item = items.find(({ id }) => id === found?.item_id);
  if (!found || found.void || !item) return undefined;
  const { kind, item_id, void: reason, supported_until: until, ...fields } = found;
  const isShown = until && (dialect.supportedUntilPast || Date.parse(until) > clock.now());
  const purchase = {
    ...fields,
    license_type: localised(fields.license_type, dialect),
    price: amountOf(fields.price, dialect),
    item: itemOf(item, call),
    ...(isShown && { supported_until: timeOf(until, dialect) }),
    date: timeOf(fields.date, dialect),
  };
  return dialect.validationEnvelope === 'item' ? { item: purchase } : { data: { purchase } };
}

/** An item as the service sends it (spec, "Item"). */
function itemOf(seed: Readonly<SeedItem>, { origin, dialect }: Call): object {
  const { workspace, kind, screenshots, deleted, ...item } = seed;
  const media = mediaOf(seed, origin);
  return {
    ...item,
    demo_link: item.demo_link ?? `${origin}/preview/${item.id}`,
    ...(dialect.nulls && { options: null, version: null, demo_link: null, sub_category: null }),
    tags: dialect.tagsAsString ? item.tags.join(',') : item.tags,
    media: {
      ...media,
      // Spreading an array numbers its entries: {"0": url, "1": url}.
      ...(dialect.screenshotsAsObject && {
        screenshots: media.screenshots ? { ...media.screenshots } : null,
      }),
    },
    price: {
      regular: amountOf(item.price.regular, dialect),
      extended: amountOf(item.price.extended, dialect),
    },
    published_at: timeOf(item.published_at, dialect),
  };
}

const amountOf = (value: number, { numericStrings }: SandboxDialect): number | string =>
  numericStrings ? value.toFixed(2) : value;

const timeOf = (iso: string, { microseconds }: SandboxDialect): string =>
  microseconds ? new Date(iso).toISOString().replace('Z', '000Z') : iso;

type Translation = Readonly<Record<'tr' | 'de', string>>;

/** The words of a localised deployment, by the English ones in lower case. */
const WORDS = new Map<string, Translation>([
  ['success', { tr: 'başarılı', de: 'erfolgreich' }],
  ['error', { tr: 'hata', de: 'Fehler' }],
  ['invalid request', { tr: 'Geçersiz istek', de: 'Ungültige Anfrage' }],
  ['no items found', { tr: 'Hiçbir öğe bulunamadı', de: 'Keine Artikel gefunden' }],
  ['item not found', { tr: 'Öğe bulunamadı', de: 'Artikel nicht gefunden' }],
  ['invalid purchase code', { tr: 'Geçersiz satın alma kodu', de: 'Ungültiger Kaufcode' }],
  ['regular', { tr: 'Normal', de: 'Standard' }],
  ['extended', { tr: 'Genişletilmiş', de: 'Erweitert' }],
]);

const ANY_OTHER_MSG = {
  tr: 'Gönderilen veriler geçerli değil.',
  de: 'Die gesendeten Daten sind nicht gültig.',
};

/** A text in the language of the dialect. `other` is for a text without a translation, which stays as it is by default. */
function localised(text: string, { localised: to }: SandboxDialect, other?: Translation): string {
  if (to === false) return text;
  const translation = WORDS.get(text.toLowerCase()) ?? other;
  return translation?.[to === true ? 'tr' : to] ?? text;
}

/** Answers `{status: "error", msg}`. */
export function sendRefusal(
  res: Response,
  dialect: SandboxDialect,
  status: number,
  text: string,
): void {
  const msg = localised(text, dialect, ANY_OTHER_MSG);
  res.locals.msg = msg;
  sendAnswer(res, status, JSON.stringify({ status: localised('error', dialect), msg }));
}
