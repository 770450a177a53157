import { createSandbox, type Sandbox } from 'marketgate/sandbox';
import { SECRET } from './checks.js';

/** Bodies as the sandbox sends them, by the endpoint that they answer. */
export type RealAnswers = Record<
  'account' | 'items' | 'item' | 'purchase' | 'authorize' | 'user',
  unknown[]
>;

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
    ...{ account: [], items: [], item: [], purchase: [], user: [] },
    authorize: [
      { access_token: SECRET.accessToken },
      { access_token: SECRET.accessToken, token_type: 'bearer', expires_in: 3600 },
    ],
  };
  const codes = ['supported', 'refunded', 'support-over', 'unsupported'].flatMap(
    (kind) => sandbox.codes.find((code) => code.kind === kind)?.code ?? [],
  );
  const callback = new URL(sandbox.acceptLogin('3001', { appId }));
  const auth_key = callback.searchParams.get('auth_key') ?? '';
  const login = { app_id: appId, app_secret: appSecret, auth_key };
  const token = String(((await ask('/api/authorize', login)) as Json).access_token);
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
