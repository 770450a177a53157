import { describe, expect, it } from 'vitest';
import { clientSettings } from '../../../src/http/client-options.js';

const read = (value: unknown, allowInsecure = false) =>
  clientSettings('KeyApi', { baseUrl: value, allowInsecure }, 'baseUrl', []).url;

describe('the address of a service', () => {
  it.each([
    ['https://market.example', 'https://market.example', ''],
    ['https://market.example/', 'https://market.example', ''],
    ['https://market.example/shop//', 'https://market.example', '/shop'],
    ['https://market.example:8443/a/b', 'https://market.example:8443', '/a/b'],
    ['http://localhost:3000', 'http://localhost:3000', ''],
    ['http://sandbox.localhost', 'http://sandbox.localhost', ''],
    ['http://127.8.9.1', 'http://127.8.9.1', ''],
    ['http://[::1]:3000', 'http://[::1]:3000', ''],
  ])('takes %s', (value, origin, basePath) => {
    expect(read(value)).toEqual({ origin, basePath });
  });

  it.each([
    ...[undefined, 42, '', 'market.example', '/api', 'ftp://market.example'],
    ...['https://user:pw@market.example', 'https://market.example?x=1', 'https://market.example#x'],
    ...['http://market.example', 'http://127.0.0.1.evil.example', 'http://localhost.evil.example'],
    'http://192.168.1.2',
  ])('refuses %j with a TypeError that names the option', (value) => {
    expect(() => read(value)).toThrow(TypeError);
    expect(() => read(value)).toThrow(/KeyApi: option "baseUrl"/);
  });

  it.each([
    [undefined, 'is undefined: is its environment variable set?'],
    ['https://market.example/api/', 'must not end in /api, which the client adds itself'],
    ['https://market.example/api/oauth', 'must not end in /api'],
  ])('says of %j what to write', (value, expected) => {
    expect(() => read(value)).toThrow(expected);
  });

  it('takes plain http where that is asked for', () => {
    expect(read('http://market.example', true).origin).toBe('http://market.example');
  });
});
