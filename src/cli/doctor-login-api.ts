import { isMarketgateError } from '../errors/marketgate-error.js';
import { LoginApi } from '../login-api/login-api.js';
import type { Report } from './doctor.js';
import { probe } from './probe.js';
import { type Settings, VARIABLES } from './settings.js';

/** No service gives out this one: it is refused, and how it is refused tells about the app. */
const NO_AUTH_KEY = 'marketgate-doctor';

/** Interface B: the address, the login page, the app's credentials. */
export async function checkLoginService(settings: Settings, report: Report): Promise<void> {
  const { authUrl, appId, appSecret, allowInsecure } = settings;
  if (authUrl === undefined && appId === undefined && appSecret === undefined) {
    report('login', 'skipped', 'not set up: fine for a site without login');
    return;
  }
  const missing = (['authUrl', 'appId', 'appSecret'] as const).filter((name) => !settings[name]);
  if (authUrl === undefined || appId === undefined || appSecret === undefined) {
    report('login', 'wrong', `set ${missing.map((name) => VARIABLES[name]).join(' and ')}`);
    return;
  }
  let loginApi: LoginApi;
  try {
    loginApi = new LoginApi({ authUrl, appId, appSecret, allowInsecure, retries: 0 });
  } catch (error) {
    report('login', 'wrong', String((error as Error).message));
    return;
  }
  try {
    report('login', 'ok', new URL(authUrl).host);
    if (await checkPage(loginApi, report)) await checkApp(loginApi, report);
    else report('app', 'skipped', 'see above');
  } finally {
    await loginApi.close();
  }
}

async function checkPage(loginApi: LoginApi, report: Report): Promise<boolean> {
  try {
    const { status } = await probe(loginApi.loginUrl());
    const isThere = status < 500;
    const odd =
      status >= 400 ? '; it may not know this app, or want its redirect URL registered' : '';
    report('login page', isThere ? 'ok' : 'wrong', `answers (HTTP ${status})${odd}`);
    return isThere;
  } catch (error) {
    report('login page', 'wrong', (error as Error).message);
    return false;
  }
}

async function checkApp(loginApi: LoginApi, report: Report): Promise<void> {
  try {
    await loginApi.exchange(NO_AUTH_KEY);
    report(
      'app',
      'wrong',
      'the service gave a token for a made-up auth_key; is this the right address?',
    );
  } catch (error) {
    if (!isMarketgateError(error)) throw error;
    if (error.code === 'auth_key_rejected') report('app', 'ok', 'the service knows it');
    else report('app', 'wrong', error.message);
  }
}
