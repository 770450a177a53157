import { KeyApi, LoginApi } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { KEY } from '../../support/wire.js';

const make = (baseUrl: unknown, options: object = {}) =>
  new KeyApi({ baseUrl, apiKey: KEY, ...options } as never);

describe('the address of a client', () => {
  it.each([
    ...['https://market.example/', 'https://market.example:8443/a//'],
    ...['http://localhost:3000', 'http://sandbox.localhost', 'http://127.8.9.1', 'http://[::1]:1'],
  ])('can be %s', (url) => {
    expect(() => make(url)).not.toThrow();
  });

  it.each([
    ...[42, '', 'market.example', '/api', 'ftp://market.example', 'http://market.example'],
    ...['https://user:pw@market.example', 'https://market.example?x=1', 'https://market.example#x'],
    ...['http://127.0.0.1.evil.example', 'http://localhost.evil.example', 'http://192.168.1.2'],
  ])('is refused with a TypeError that names it and does not repeat it: %j', (url) => {
    expect(() => make(url)).toThrow(TypeError);
    expect(() => make(url)).toThrow('KeyApi: option "baseUrl"');
    expect(() => make(url)).not.toThrow(/user:pw|evil/);
  });

  it('is named as that of the LoginApi there', () => {
    const options = { authUrl: 'http://market.example', appId: 'app', appSecret: 'secret' };
    expect(() => new LoginApi(options)).toThrow('LoginApi: option "authUrl"');
    expect(() => new LoginApi({ ...options, allowInsecure: true })).not.toThrow();
  });
});

it.each<[object, RegExp]>([
  [{ fetch: 'fetch' }, /"fetch" must be a function/],
  [{ timeout: 0 }, /"timeout" .*milliseconds/],
  [{ timeout: Number.NaN }, /"timeout"/],
  [{ maxResponseBytes: -1 }, /"maxResponseBytes"/],
  [{ retries: 1.5 }, /"retries"/],
  [{ allowInsecure: 'false' }, /"allowInsecure"/],
  [{ clock: 0 }, /"clock"/],
  [{ dispatcher: {} }, /unknown option "dispatcher"/],
])('a client refuses %j with a TypeError', (options, says) => {
  expect(() => make('https://market.example', options)).toThrow(TypeError);
  expect(() => make('https://market.example', options)).toThrow(says);
});
