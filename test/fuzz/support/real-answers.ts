import { createSandbox, type Sandbox } from 'marketgate/sandbox';
import { SECRET } from './checks.js';

/** Bodies as the sandbox sends them, by the endpoint that they answer. */
export interface RealAnswers {
  readonly account: unknown[];
  readonly items: unknown[];
  readonly item: unknown[];
  readonly purchase: unknown[];
  readonly authorize: unknown[];
  readonly user: unknown[];
}

/** Every dialect that changes a body. */
const DIALECTS: Partial<Sandbox['dialect']>[] = [
  {},
  { localised: 'de' },
  { validationEnvelope: 'item', capitalisation: true },
  { tagsAsString: true, screenshotsAsObject: true, microseconds: true },
  { nulls: true, numericStrings: true, supportedUntilPast: true },
  { extraFields: true, datetimes: true, relativePictures: true },
  { errors: 'localised' },
  { crash: 'json' },
];

/** Items of each kind are enough; a whole catalogue would only be slower to change. */
const FEW = 3;

type Json = Record<string, unknown>;

/** Asks a sandbox everything, in every dialect: right questions and wrong ones. */
export async function realAnswers(): Promise<RealAnswers> {
  const sandbox = createSandbox({ redirectUrl: 'http://localhost:3000/callback' });
  const { baseUrl, apiKey, appId, appSecret } = await sandbox.listen(0);
  const ask = async (path: string, form?: Record<string, string>): Promise<unknown> => {
    const init = form && { method: 'POST', body: new URLSearchParams(form) };
    const text = await (await fetch(baseUrl + path, init)).text();
    return JSON.parse(text);
  };
  const found: RealAnswers = {
    account: [],
    items: [],
    item: [],
    purchase: [],
    authorize: [
      { access_token: SECRET.accessToken },
      { access_token: SECRET.accessToken, token_type: 'bearer', expires_in: 3600 },
    ],
    user: [],
  };
  const codes = ['supported', 'refunded', 'support-over', 'unsupported'].flatMap(
    (kind) => sandbox.codes.find((code) => code.kind === kind)?.code ?? [],
  );
  const token = await tokenOf(baseUrl, appId, appSecret);
  for (const dialect of DIALECTS) {
    for (const name of Object.keys(sandbox.dialect)) Reflect.set(sandbox.dialect, name, undefined);
    Object.assign(sandbox.dialect, createSandbox().dialect, dialect);
    for (const key of [apiKey, 'wrong']) {
      found.account.push(await ask(`/api/account/details?api_key=${key}`));
      found.items.push(shortened(await ask(`/api/items/all?api_key=${key}`)));
      found.item.push(await ask(`/api/items/item?api_key=${key}&item_id=1042`));
      for (const code of codes) {
        const form = { api_key: key, purchase_code: code };
        found.purchase.push(withCode(await ask('/api/purchases/validation', form)));
      }
    }
    found.authorize.push(
      await ask('/api/authorize', { app_id: appId, app_secret: appSecret, auth_key: 'x' }),
      await ask('/api/authorize', { app_id: appId, app_secret: 'wrong', auth_key: 'x' }),
    );
    for (const value of [token, 'wrong']) {
      found.user.push(await ask(`/api/get_user_info?access_token=${value}`));
    }
  }
  found.user.push([], { user_info: [] }, { error: true, message: 'expired access_token' });
  await sandbox.close();
  return found;
}

function shortened(body: unknown): unknown {
  const { items } = body as Json;
  return Array.isArray(items) ? { ...(body as Json), items: items.slice(0, FEW) } : body;
}

/** The code that the targets ask about, in place of the sandbox's own. */
const withCode = (body: unknown): unknown =>
  JSON.parse(
    JSON.stringify(body).replace(/("purchase_code":)"[^"]*"/, `$1${JSON.stringify(SECRET.code)}`),
  );

/** Logs a user in as a browser would, and exchanges the auth_key. */
async function tokenOf(origin: string, appId: string, appSecret: string): Promise<string> {
  let cookie = '';
  const visit = async (path: string, form?: Record<string, string>): Promise<Response> => {
    const response = await fetch(new URL(path, origin), {
      redirect: 'manual',
      headers: { cookie },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? cookie;
    return response;
  };
  const attemptOn = async (response: Response): Promise<string> =>
    /name="attempt" value="([0-9a-f]+)"/.exec(await response.text())?.[1] ?? '';
  const attempt = await attemptOn(await visit(`/api/oauth?app_id=${appId}`));
  await visit('/sandbox/login', { attempt, user_id: '3001' });
  const end = await visit('/sandbox/consent', { attempt, decision: 'accept' });
  const [, auth_key = ''] = (end.headers.get('location') ?? '').split('?auth_key=');
  const answer = await visit('/api/authorize', { app_id: appId, app_secret: appSecret, auth_key });
  return String(((await answer.json()) as Json).access_token);
}
