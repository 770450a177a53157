import { DriftReports } from '../diagnostics.js';
import { MarketgateError, type MarketgateErrorCode } from '../errors.js';
import {
  CLIENT_OPTION_NAMES,
  type ClientOptions,
  type ClientSettings,
  checkClientOptions,
  serviceUrl,
} from '../http/client-options.js';
import { redact } from '../http/failure.js';
import { HttpClient, type HttpRequest } from '../http/http-client.js';
import { describeUnusable, isNotNow, type JsonResponse, MEANINGS } from '../http/meanings.js';
import { nameOf, type WireRequest } from '../http/transport.js';
import { type AccessToken, isAccessToken } from '../model/access-token.js';
import { describeProblem, isObject, type Parsed, parse } from '../model/fields.js';
import { type UserInfo, userInfoSchema } from '../model/user-info.js';
import { choiceOption, knownOptions, positiveOption, textOption } from '../options.js';

/** Options of {@link LoginApi}. */
export interface LoginApiOptions extends ClientOptions {
  /** Where the login API is served: an absolute https URL, with or without a path. */
  authUrl: string;
  /** The app's id, from the developer dashboard. Not a secret. */
  appId: string;
  /** The app's secret, from the developer dashboard. */
  appSecret: string;
  /**
   * Milliseconds that an access_token lives. Default one hour, as specified; some deployments give
   * them less.
   */
  tokenLifetime?: number | undefined;
  /** How authorize is called. Default `'post'`, as specified; older deployments take only `'get'`. */
  authorizeMethod?: 'post' | 'get' | undefined;
}

/** Options of one call. */
export interface LoginCallOptions {
  /** Ends the call when aborted; it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** The endpoints of the login API (specification: "Endpoints"). */
export const OAUTH = '/api/oauth';
export const AUTHORIZE = '/api/authorize';
export const GET_USER_INFO = '/api/get_user_info';

const HOUR = 3_600_000;
/** An auth_key comes in a URL; a longer one is refused without a request. */
const LONGEST_AUTH_KEY = 2048;
const BAD_AUTH_KEY =
  'auth_key must be a non-empty string, as it came in the query of the callback; the visitor must log in again';

/** Client of the login API, version 1.1 (specification: interface B). */
export class LoginApi {
  /** The option `clock`, for login attempts and stored tokens. */
  readonly clock: () => number;
  readonly #settings: ClientSettings;
  readonly #http: HttpClient;
  readonly #drift: DriftReports;
  readonly #appId: string;
  readonly #loginUrl: string;
  readonly #appSecret: string;
  readonly #tokenLifetime: number;
  readonly #authorizeMethod: 'post' | 'get';

  /** @throws TypeError that names the wrong option. */
  constructor(options: LoginApiOptions) {
    const me = 'LoginApi';
    const names = ['authUrl', 'appId', 'appSecret', 'tokenLifetime', 'authorizeMethod'] as const;
    const given = knownOptions(me, options, [...names, ...CLIENT_OPTION_NAMES]);
    const { authUrl, appId, appSecret, tokenLifetime: life, authorizeMethod: method } = given;
    this.#settings = checkClientOptions(me, given);
    this.clock = this.#settings.clock;
    this.#drift = new DriftReports(this.clock);
    const url = serviceUrl(me, 'authUrl', authUrl, this.#settings.allowInsecure);
    this.#appId = textOption(me, 'appId', appId);
    this.#appSecret = textOption(me, 'appSecret', appSecret);
    this.#tokenLifetime = positiveOption(me, 'tokenLifetime', life, HOUR, 'milliseconds');
    this.#authorizeMethod = choiceOption(me, 'authorizeMethod', method, ['post', 'get'], 'post');
    const { origin, basePath } = url;
    this.#loginUrl = `${origin}${basePath}${OAUTH}?${new URLSearchParams({ app_id: this.#appId })}`;
    this.#http = new HttpClient(url, this.#settings);
  }

  /**
   * The URL of the login page, for the user's browser (GET /api/oauth). It carries only the app_id,
   * because the service drops every other parameter, also `state`.
   */
  loginUrl(): string {
    return this.#loginUrl;
  }

  /**
   * Exchanges an auth_key for an access_token (POST /api/authorize). The request is never repeated, even
   * without a response, because an auth_key works once.
   * @throws MarketgateError `auth_key_rejected`; `app_credentials_rejected`; `service_unavailable`;
   * `unexpected_response`.
   */
  async exchange(authKey: string, options: LoginCallOptions = {}): Promise<AccessToken> {
    if (typeof authKey !== 'string' || authKey.trim() === '' || authKey.length > LONGEST_AUTH_KEY) {
      throw new MarketgateError('auth_key_rejected', BAD_AUTH_KEY);
    }
    const fields = new URLSearchParams({
      app_id: this.#appId,
      app_secret: this.#appSecret,
      auth_key: authKey,
    }).toString();
    const issuedAt = this.clock();
    const value = await this.#call<string>(
      {
        path: AUTHORIZE,
        repeatable: false,
        ...(this.#authorizeMethod === 'get'
          ? { method: 'GET', query: fields }
          : { method: 'POST', body: fields, contentType: 'application/x-www-form-urlencoded' }),
      },
      [this.#appSecret, authKey],
      parseToken,
      options,
    );
    return { value, issuedAt, expiresAt: issuedAt + this.#tokenLifetime };
  }

  /**
   * The user that an access_token belongs to (GET /api/get_user_info).
   * @param token - an {@link AccessToken} or its value.
   * @throws MarketgateError `access_token_expired` when the token has expired or the service does not
   * accept it; `login_failed` when the account no longer exists; `service_unavailable`; `unexpected_response`.
   */
  async getUser(token: AccessToken | string, options: LoginCallOptions = {}): Promise<UserInfo> {
    const value = this.#valueOf(token);
    const query = new URLSearchParams({ access_token: value }).toString();
    return this.#call<UserInfo>(
      { method: 'GET', path: GET_USER_INFO, query, repeatable: true },
      [value, this.#appSecret],
      ({ user_info: user }) =>
        isObject(user)
          ? parse(userInfoSchema, user, 'user_info', (drift) =>
              this.#drift.report({ endpoint: GET_USER_INFO, ...drift }),
            )
          : undefined,
      options,
    );
  }

  /**
   * Ends connections and in-flight requests at once; the requests reject with `service_unavailable`, as
   * do later calls.
   */
  async close(): Promise<void> {
    await this.#http.close();
  }

  #valueOf(token: AccessToken | string): string {
    if (typeof token === 'string' && token.trim() !== '') return token;
    if (!isAccessToken(token)) {
      throw new TypeError(
        'LoginApi: token must be an AccessToken or its value, a non-empty string',
      );
    }
    if (this.clock() < token.expiresAt) return token.value;
    throw new MarketgateError(
      'access_token_expired',
      `the access_token has expired (it lives ${this.#tokenLifetime / 60_000} minutes); the visitor must log in again`,
    );
  }

  async #call<T>(
    request: Omit<HttpRequest<T>, 'parse'>,
    secrets: readonly string[],
    payload: (body: Body) => Parsed<T> | undefined,
    { signal }: LoginCallOptions,
  ): Promise<T> {
    const name = nameOf(request);
    const deadline = this.#http.deadline(name, this.#settings.timeout, signal);
    try {
      return await this.#http.call(
        { ...request, parse: (response) => parseAnswer(request, response, secrets, payload) },
        deadline,
      );
    } finally {
      deadline.dispose();
    }
  }
}

type Body = Readonly<Record<string, unknown>>;

function parseToken({ access_token: value }: Body): Parsed<string> | undefined {
  return typeof value === 'string' && value.trim() !== '' ? { ok: true, value } : undefined;
}

/**
 * Parses a response by the table {@link MEANINGS}. The specification shows no errors; deployments send
 * `{error, message}`, mostly with HTTP 200.
 * @param secrets values that were sent and must not appear in an error.
 * @throws MarketgateError when the response has no payload.
 */
function parseAnswer<T>(
  request: WireRequest,
  response: JsonResponse,
  secrets: readonly string[],
  payload: (body: Body) => Parsed<T> | undefined,
): T {
  const body = bodyOf(response);
  const parsed = body && !body.error ? payload(body) : undefined;
  if (parsed?.ok) return parsed.value;
  const kind = kindOf(response, body, parsed !== undefined);
  const meaning = MEANINGS[kind][request.path === AUTHORIZE ? 'authorize' : 'userInfo'];
  const reason = redact(reasonIn(body), secrets);
  const problem =
    PROBLEMS[meaning]?.(reason && `: "${reason}"`) ??
    describeUnusable(response, parsed && redact(describeProblem(parsed), secrets));
  throw new MarketgateError(meaning, `${nameOf(request)}: ${problem}`);
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

function bodyOf({ body }: JsonResponse): Body | undefined {
  if (!body.isJson) return undefined;
  // PHP writes an empty object as `[]`.
  if (isEmptyList(body.value)) return {};
  return isObject(body.value) ? body.value : undefined;
}

/** The reason that the service gives: `message`, or text in `error`; otherwise an empty string. */
function reasonIn({ message, error }: Body = {}): string {
  if (typeof message === 'string') return message;
  return typeof error === 'string' ? error : '';
}

function kindOf(response: JsonResponse, body: Body | undefined, isMisshapen: boolean) {
  if (isNotNow(response)) return 'notNow';
  if (body === undefined) return 'notJson';
  if (isMisshapen) return 'misshapen';
  if (/app[_\s-]?(id|secret)/i.test(reasonIn(body))) return 'refusalOfApp';
  if (body.error || typeof body.message === 'string') return 'refusal';
  const isNobody =
    isEmptyList(response.body.isJson && response.body.value) || Array.isArray(body.user_info);
  return isNobody ? 'nobody' : 'withoutPayload';
}

/** The error message of each code; `reason` is the one that the service gave. */
const PROBLEMS: { readonly [K in MarketgateErrorCode]?: (reason: string) => string } = {
  auth_key_rejected: (reason) =>
    `the service gave no access_token for this auth_key${reason}; it works once, so the visitor must log in again`,
  app_credentials_rejected: (reason) =>
    `the service does not accept this app${reason}; compare "appId" and "appSecret" with the developer dashboard`,
  access_token_expired: (reason) =>
    `the service does not accept this access_token any more${reason}; the visitor must log in again`,
  login_failed: () =>
    'the service knows no such user any more; the account was deleted or is blocked',
};
