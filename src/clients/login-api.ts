import { DriftReports } from '../diagnostics.js';
import { MarketgateError } from '../errors.js';
import {
  CLIENT_OPTION_NAMES,
  type ClientOptions,
  type ClientSettings,
  checkClientOptions,
  serviceUrl,
} from '../http/client-options.js';
import { HttpClient, type HttpRequest } from '../http/http-client.js';
import { nameOf } from '../http/transport.js';
import { type AccessToken, isAccessToken } from '../model/access-token.js';
import type { UserInfo } from '../model/user-info.js';
import { choiceOption, knownOptions, positiveOption, textOption } from '../options.js';
import { lazily } from '../shape/lazily.js';
import { AUTHORIZE, GET_USER_INFO, judgeAuthorize, judgeUserInfo } from './judge-login.js';

/** What reads a user; here without a promise once the first call has waited for it. */
export const loadReader = lazily(() => import('./read-user.js'));

/** Options of {@link LoginApi}. */
export interface LoginApiOptions extends ClientOptions {
  /** Where interface B is served: an absolute https URL, with or without a path. */
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

const HOUR = 3_600_000;
/** An auth_key is a word in a URL; what is longer than this is none. */
const LONGEST_AUTH_KEY = 2048;

/** Client of interface B, the login with app. */
export class LoginApi {
  /** The clock it was given, for what belongs to the same login: attempts, stored tokens. */
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
    const given = knownOptions('LoginApi', options, [
      'authUrl',
      'appId',
      'appSecret',
      'tokenLifetime',
      'authorizeMethod',
      ...CLIENT_OPTION_NAMES,
    ]);
    this.#settings = checkClientOptions('LoginApi', given);
    this.clock = this.#settings.clock;
    this.#drift = new DriftReports(this.clock);
    const url = serviceUrl('LoginApi', 'authUrl', given.authUrl, this.#settings.allowInsecure);
    this.#appId = textOption('LoginApi', 'appId', given.appId);
    this.#appSecret = textOption('LoginApi', 'appSecret', given.appSecret);
    this.#tokenLifetime = positiveOption(
      'LoginApi',
      'tokenLifetime',
      given.tokenLifetime,
      HOUR,
      'milliseconds',
    );
    this.#authorizeMethod = choiceOption(
      'LoginApi',
      'authorizeMethod',
      given.authorizeMethod,
      ['post', 'get'],
      'post',
    );
    const { origin, basePath } = url;
    this.#loginUrl = `${origin}${basePath}/api/oauth?${new URLSearchParams({ app_id: this.#appId })}`;
    this.#http = new HttpClient(url, this.#settings);
  }

  /**
   * Where to send the user's browser (GET /api/oauth). It carries the app_id and nothing else: the
   * service drops every other parameter, `state` too.
   */
  loginUrl(): string {
    return this.#loginUrl;
  }

  /**
   * Spends an auth_key for an access_token (authorize). Sent once and never repeated, also not when
   * the answer got lost: the key may be spent.
   * @throws MarketgateError `auth_key_rejected`; `app_credentials_rejected`; `service_unavailable`;
   * `unexpected_response`.
   */
  async exchange(authKey: string, options: LoginCallOptions = {}): Promise<AccessToken> {
    if (typeof authKey !== 'string' || authKey.trim() === '' || authKey.length > LONGEST_AUTH_KEY) {
      throw new MarketgateError(
        'auth_key_rejected',
        'auth_key must be a non-empty string, as it came in the query of the callback; the visitor must log in again',
      );
    }
    const fields = new URLSearchParams({
      app_id: this.#appId,
      app_secret: this.#appSecret,
      auth_key: authKey,
    }).toString();
    const issuedAt = this.#settings.clock();
    const value = await this.#call(
      {
        path: AUTHORIZE,
        repeatable: false,
        ...(this.#authorizeMethod === 'get'
          ? { method: 'GET', query: fields }
          : {
              method: 'POST',
              body: fields,
              contentType: 'application/x-www-form-urlencoded',
            }),
        judge: (answer) =>
          judgeAuthorize(`${this.#authorizeMethod.toUpperCase()} ${AUTHORIZE}`, answer, [
            this.#appSecret,
            authKey,
          ]),
      },
      options,
    );
    return { value, issuedAt, expiresAt: issuedAt + this.#tokenLifetime };
  }

  /**
   * The user an access_token belongs to (get_user_info).
   * @param token an {@link AccessToken} or its value.
   * @throws MarketgateError `access_token_expired` when the service does not accept it, or its time
   * is over; `login_failed` when the user is gone; `service_unavailable`; `unexpected_response`.
   */
  async getUser(token: AccessToken | string, options: LoginCallOptions = {}): Promise<UserInfo> {
    const value = this.#valueOf(token);
    const { readUser } = await loadReader();
    return this.#call(
      {
        method: 'GET',
        path: GET_USER_INFO,
        query: new URLSearchParams({ access_token: value }).toString(),
        repeatable: true,
        judge: (answer) =>
          judgeUserInfo(
            `GET ${GET_USER_INFO}`,
            answer,
            [value, this.#appSecret],
            readUser,
            this.#drift,
          ),
      },
      options,
    );
  }

  /**
   * Ends connections and all requests under way, which reject with `service_unavailable`; waits for none
   * of them. Later calls are refused.
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
    if (this.#settings.clock() < token.expiresAt) return token.value;
    throw new MarketgateError(
      'access_token_expired',
      `the access_token is over (it lives ${this.#tokenLifetime / 60_000} minutes); the visitor must log in again`,
    );
  }

  async #call<T>(request: HttpRequest<T>, { signal }: LoginCallOptions): Promise<T> {
    const deadline = this.#http.deadline(nameOf(request), this.#settings.timeout, signal);
    try {
      return await this.#http.call(request, deadline);
    } finally {
      deadline.dispose();
    }
  }
}
