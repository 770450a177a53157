import { KeyApi, LoginApi } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { KEY } from '../../support/wire.js';

/** Makes both clients; their first error says whose option is wrong. */
const makers: [string, (url: unknown, options?: object) => unknown][] = [
  ['KeyApi: option "baseUrl"', (baseUrl, o) => new KeyApi({ baseUrl, apiKey: KEY, ...o } as never)],
  [
    'LoginApi: option "authUrl"',
    (authUrl, o) => new LoginApi({ authUrl, appId: 'app', appSecret: 'secret', ...o } as never),
  ],
];

describe.each(makers)('the address in %s', (name, make) => {
  it.each([
    ...['https://market.example', 'https://market.example/', 'https://market.example:8443/a//'],
    ...['http://localhost:3000', 'http://sandbox.localhost', 'http://127.8.9.1', 'http://[::1]:1'],
  ])('can be %s', (url) => {
    expect(() => make(url)).not.toThrow();
  });

  it.each([
    ...[undefined, 42, '', 'market.example', '/api', 'ftp://market.example'],
    ...['https://user:pw@market.example', 'https://market.example?x=1', 'https://market.example#x'],
    ...['http://market.example', 'http://127.0.0.1.evil.example', 'http://localhost.evil.example'],
    'http://192.168.1.2',
  ])('is refused with a TypeError that names it and does not repeat it: %j', (url) => {
    expect(() => make(url)).toThrow(TypeError);
    expect(() => make(url)).toThrow(name);
    expect(() => make(url)).not.toThrow(/user:pw|evil/);
  });

  it('can be plain http where allowInsecure is true', () => {
    expect(() => make('http://market.example', { allowInsecure: true })).not.toThrow();
  });

  it.each<[object, RegExp]>([
    [{ fetch: 'fetch' }, /"fetch" must be a function/],
    [{ timeout: 0 }, /"timeout" .*milliseconds/],
    [{ timeout: '5s' }, /"timeout"/],
    [{ timeout: Number.NaN }, /"timeout"/],
    [{ maxResponseBytes: -1 }, /"maxResponseBytes"/],
    [{ retries: 1.5 }, /"retries"/],
    [{ allowInsecure: 'false' }, /"allowInsecure"/],
    [{ clock: 0 }, /"clock"/],
    [{ timeOut: 5000 }, /"timeOut"/],
    [{ dispatcher: {} }, /unknown option "dispatcher"/],
  ])('has neighbours that are checked: %j is a TypeError', (options, says) => {
    expect(() => make('https://market.example', options)).toThrow(TypeError);
    expect(() => make('https://market.example', options)).toThrow(says);
  });
});
