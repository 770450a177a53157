import { reportDrift } from '../diagnostics.js';
import { MarketgateError } from '../errors.js';
import { Guesses } from '../guess/guesses.js';
import { HttpClient, type HttpRequest } from '../http/http-client.js';
import {
  type Body,
  isOfApi,
  isTransient,
  type JsonResponse,
  saysError,
  unusable,
} from '../http/response.js';
import { clientSettings, serviceUrl } from '../http/settings.js';
import { encode, nameOf } from '../http/transport.js';
import { type AccessToken, readAccessToken } from '../model/access-token.js';
import { isEmptyArray, isObject, type OnDrift, parse } from '../model/fields.js';
import { type UserInfo, userInfoRecord } from '../model/user-info.js';
import {
  type AppId,
  type Check,
  checkedFor,
  choice,
  environmentText,
  positive,
  readOptions,
  type Table,
  type Values,
  wrongOption,
} from '../options.js';
import { redact } from '../redact.js';
import { CLIENT_OPTIONS, type ClientOptions } from './client-options.js';

/** Options of {@link LoginApi}. */
export interface LoginApiOptions extends ClientOptions {
  /** Where the login API is served: an absolute https URL, with or without a path. */
  authUrl: string;
  /** The app's id, from the developer dashboard. Not a secret. */
  appId: string;
  /** The app's secret, from the developer dashboard. */
  appSecret: string;
  /**
   * Milliseconds that an access_token lives, a minute or more. Default one hour, as specified; some deployments give
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

/** Options of {@link LoginApi.exchange}. */
export interface ExchangeOptions extends LoginCallOptions {
  /**
   * Who is counted by the option `guessLimit`, if the service refuses the auth_key: an address, or the id of a user. An
   * IPv6 address counts with its whole /56. Default: nobody.
   */
  client?: AppId;
}

/** The endpoints of the login API (specification: "Endpoints"). */
export const OAUTH = '/api/oauth';
export const AUTHORIZE = '/api/authorize';
export const GET_USER_INFO = '/api/get_user_info';

/** A shorter lifetime was meant in seconds. */
const lifetime: Check<number> = (owner, name, value) => {
  const milliseconds = positive('milliseconds', 3_600_000)(owner, name, value);
  if (milliseconds >= 60_000) return milliseconds;
  throw wrongOption(owner, name, 'must be in milliseconds: a minute (60_000) or more');
};

const OPTIONS = {
  authUrl: serviceUrl,
  appId: environmentText,
  appSecret: environmentText,
  tokenLifetime: lifetime,
  authorizeMethod: choice('post', 'get'),
  ...CLIENT_OPTIONS,
} satisfies Table<LoginApiOptions>;

/** Client of the login API, version 1.1. */
export class LoginApi {
  /** The option `clock`, for login attempts and stored tokens. */
  readonly clock: () => number;
  readonly #options: Omit<Values<typeof OPTIONS>, 'authUrl'>;
  readonly #http: HttpClient;
  readonly #loginUrl: string;
  readonly #guesses: Guesses;

  /**
   * Makes a client of the login API, for a {@link MarketplaceStrategy} or for calls of your own.
   *
   * @throws TypeError that names the wrong option.
   *
   * @example
   * const loginApi = new LoginApi({ authUrl: 'https://market.example', appId, appSecret });
   */
  constructor(options: LoginApiOptions) {
    const me = 'LoginApi';
    const { given, settings } = checkedFor(new.target, () => {
      const { authUrl, ...given } = readOptions(me, OPTIONS, options);
      return { given, settings: clientSettings(me, 'authUrl', authUrl, given) };
    });
    this.clock = settings.clock;
    this.#guesses = new Guesses(me, given.guessLimit, settings.timer);
    this.#options = given;
    const { origin, basePath } = settings.url;
    this.#loginUrl = `${origin}${basePath}${OAUTH}?${new URLSearchParams({ app_id: given.appId })}`;
    // There is no api_key: any answer of the API shows that the service is there.
    const probe: HttpRequest<true> = {
      method: 'GET',
      path: GET_USER_INFO,
      parameters: {},
      secrets: [],
      isRepeatable: true,
      parse: (response) => {
        if (isOfApi(response) && !isTransient(response.status)) return true;
        throw unusable(response);
      },
    };
    this.#http = new HttpClient(settings, () => probe);
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
   * @throws MarketgateError `auth_key_rejected`; `too_many_attempts`; `app_credentials_rejected`; `service_unavailable`;
   * `unexpected_response`.
   */
  async exchange(authKey: string, options: ExchangeOptions = {}): Promise<AccessToken> {
    if (typeof authKey !== 'string' || authKey.trim() === '') {
      throw new MarketgateError(
        'auth_key_rejected',
        'auth_key must be a non-empty string, as it came in the query of the callback; the visitor must log in again',
      );
    }
    const { appId, appSecret, authorizeMethod, tokenLifetime } = this.#options;
    const fields = { app_id: appId, app_secret: appSecret, auth_key: authKey };
    const isGet = authorizeMethod === 'get';
    const issuedAt = this.clock();
    const secrets = [appSecret, authKey];
    const request: HttpRequest<string> = {
      method: isGet ? 'GET' : 'POST',
      path: AUTHORIZE,
      parameters: encode(fields, isGet ? 'query' : 'form'),
      secrets,
      isRepeatable: false,
      parse: (response) => parseToken(response, secrets),
    };
    const { signal, client } = options;
    const value = await this.#http.within(nameOf(request), { signal }, (deadline) => {
      const question = { client, scope: () => this.#loginUrl, deadline };
      return this.#guesses.count(question, () => this.#http.send(request, deadline));
    });
    return { value, issuedAt, expiresAt: issuedAt + tokenLifetime };
  }

  /**
   * The user that an access_token belongs to (GET /api/get_user_info).
   * @param token - an {@link AccessToken} or its value.
   * @throws MarketgateError `access_token_expired` when the token has expired or the service does not
   * accept it; `login_failed` when the account no longer exists; `service_unavailable`; `unexpected_response`.
   */
  async getUser(token: AccessToken | string, options: LoginCallOptions = {}): Promise<UserInfo> {
    const value = this.#valueOf(token);
    const onDrift: OnDrift = (drift) => reportDrift(this, { endpoint: GET_USER_INFO, ...drift });
    const secrets = [value, this.#options.appSecret];
    const request: HttpRequest<UserInfo> = {
      method: 'GET',
      path: GET_USER_INFO,
      parameters: encode({ access_token: value }, 'query'),
      secrets,
      isRepeatable: true,
      parse: (response) => parseUser(response, secrets, onDrift),
    };
    return this.#http.within(nameOf(request), { signal: options.signal }, (deadline) =>
      this.#http.send(request, deadline),
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
    const given = readAccessToken(token);
    if (given === undefined) {
      throw new TypeError(
        'LoginApi: token must be an AccessToken or its value, a non-empty string',
      );
    }
    if (this.clock() < given.expiresAt) return given.value;
    throw new MarketgateError(
      'access_token_expired',
      `the access_token has expired (it lives ${this.#options.tokenLifetime / 60_000} minutes); the visitor must log in again`,
    );
  }
}

/*
 * The specification shows no errors of the login API; deployments send `{error, message}`, mostly with
 * HTTP 200. `secrets` were sent and must not appear in an error.
 */

/** Statuses that refuse an exchange, and a token, with JSON or no body. A page is that of a CDN or a firewall. */
const REFUSED = [400, 401, 403, 422];

/** @throws MarketgateError when there is no access_token in the response. */
function parseToken(response: JsonResponse, secrets: readonly string[]): string {
  const { name, value } = response;
  const body = isObject(value) ? value : {};
  const { access_token: token } = body;
  if (!hasError(body) && typeof token === 'string' && token.trim() !== '') return token;
  if (!isRefusal(response, body)) throw unusable(response);
  const text = reasonIn(body);
  const reason = quoted(text, secrets);
  if (/(?<![a-z])app[_\s-]?(id|secret)(?![a-z])/i.test(text)) {
    const problem = `the service does not accept this app${reason}; compare "appId" and "appSecret" with the developer dashboard`;
    throw new MarketgateError('app_credentials_rejected', `${name}: ${problem}`);
  }
  const problem = `the service gave no access_token for this auth_key${reason}; it works once, so the visitor must log in again`;
  throw new MarketgateError('auth_key_rejected', `${name}: ${problem}`);
}

/** @throws MarketgateError when there is no user in the response. */
function parseUser(response: JsonResponse, secrets: readonly string[], onDrift: OnDrift): UserInfo {
  const { name, status, value } = response;
  const body = isObject(value) ? value : {};
  const { user_info: user } = body;
  const parsed =
    !hasError(body) && isObject(user)
      ? parse(userInfoRecord, user, 'user_info', onDrift)
      : undefined;
  if (parsed?.ok) return parsed.value;
  // A reason next to a user that cannot be parsed is no refusal.
  if (isRefusal(response, parsed ? {} : body)) {
    const problem = `the service does not accept this access_token any more${quoted(reasonIn(body), secrets)}; the visitor must log in again`;
    throw new MarketgateError('access_token_expired', `${name}: ${problem}`);
  }
  // `[]`, in the place of the user or of the whole answer.
  if (isSuccess(status) && (isEmptyArray(user) || isEmptyArray(value))) {
    const problem =
      'the service knows no such user any more; the account was deleted or is blocked';
    throw new MarketgateError('login_failed', `${name}: ${problem}`);
  }
  throw unusable(response, parsed);
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/**
 * Whether a response without a usable payload refuses what was sent. With other statuses, such as 404 or 405, it
 * says nothing about that: a proxy or a framework can have sent it.
 */
const isRefusal = (response: JsonResponse, body: Body): boolean =>
  isSuccess(response.status)
    ? hasError(body) || reasonIn(body) !== ''
    : REFUSED.includes(response.status) && isOfApi(response);

const hasError = ({ error, status }: Body): boolean =>
  saysError(status) || (Boolean(error) && !isEmptyArray(error));

/** The reason that the service gives, from wherever deployments put it. */
function reasonIn({ message, msg, error, error_description: description }: Body): string {
  const inner = isObject(error) ? error.message : undefined;
  return [message, msg, error, inner, description]
    .filter((text) => typeof text === 'string' && text.trim() !== '')
    .join('; ');
}

/** A reason for an error message. */
const quoted = (reason: string, secrets: readonly string[]): string =>
  reason && `: "${redact(reason, secrets)}"`;
