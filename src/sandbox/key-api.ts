import type { Request, RequestHandler, Response, Router } from 'express';
import express from 'express';
import type { SandboxContext } from './context.js';
import { faultsBeforeAnswer, sendErrorPage, sendJson } from './faults.js';
import { ANY_OTHER_MSG, localised } from './localised.js';
import { mediaOf } from './media.js';
import {
  bodyParameters,
  form,
  interfaceOf,
  multipart,
  originOf,
  queryParameters,
  Refused,
  refuseMethod,
} from './request.js';
import type { SeedItem } from './schema.js';

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
        return sendJson(context, res, 200, { status: localised('success', dialect), ...payload });
      }
      sendRefusal(context, res, dialect.errorStatus === 'ok' ? 200 : status, msg);
    });
    router.all(path, ...front, (_req, res) => refuseMethod(res, method.toUpperCase()));
  }
  router.use((req, res, next) => {
    const isDisabled = dialect.apiDisabled && interfaceOf(req.path) === 'key-api';
    if (isDisabled) sendErrorPage(res, 404, '404', 'Not Found');
    else next();
  });
  return router;
}

const MINUTE = 60_000;

/** What is in front of the key API on real deployments (field notes): an API that is off, a rate limit per client address. */
function deployment(context: SandboxContext): RequestHandler {
  const { dialect, clock, counts } = context;
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
    if (dialect.apiDisabled) return sendErrorPage(res, 404, '404', 'Not Found');
    const limit = dialect.rateLimit === true ? 60 : dialect.rateLimit;
    if (limit === false || isWithinLimit(req, res, limit)) return next();
    const message = 'Too Many Attempts.';
    if (req.headers.accept?.includes('/json')) sendJson(context, res, 429, { message });
    else sendErrorPage(res, 429, '429', message);
  };
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
    const value = given.trim();
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
      profile: {
        ...profile,
        ...(dialect.nulls && nulls),
        media: { avatar: `${media}/avatar.svg`, cover: `${media}/cover.svg`, ...profile.media },
      },
    },
  };
}

/** GET /api/items/all → `{status, items: Item[]}`: the whole catalogue, newest first (field notes). */
function itemsAll(call: Call): Payload {
  const items = call.items
    .filter((item) => !item.deleted)
    .sort((a, b) => Date.parse(b.published_at) - Date.parse(a.published_at));
  return items.length > 0 ? { items: items.map((item) => itemOf(item, call)) } : undefined;
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
    item: itemOf(item, call),
    ...(isShown && { supported_until: until }),
  };
  return { data: { purchase } };
}

/** An item as the service sends it (spec, "Item"). */
function itemOf(seed: Readonly<SeedItem>, { origin, dialect }: Call): object {
  const { workspace, kind, screenshots, deleted, ...item } = seed;
  return {
    ...item,
    demo_link: item.demo_link ?? `${origin}/media/items/${item.id}/preview.svg`,
    ...(dialect.nulls && { options: null, version: null, demo_link: null, sub_category: null }),
    media: mediaOf(seed, origin),
  };
}

/** Answers `{status: "error", msg}`. */
export function sendRefusal(
  context: SandboxContext,
  res: Response,
  status: number,
  text: string,
): void {
  const msg = localised(text, context.dialect, ANY_OTHER_MSG);
  res.locals.msg = msg;
  sendJson(context, res, status, { status: localised('error', context.dialect), msg });
}
