import { describe, expect, it } from 'vitest';
import { profileOf } from '../../../src/passport/verify.js';
import { userInfo } from '../../support/wire.js';

const SITE = 'https://market.example/x/';
const of = (user: object) => profileOf({ ...userInfo, ...user }, SITE);

describe('a profile', () => {
  it('is in the form of passport', () => {
    expect(of({})).toEqual({
      provider: 'marketplace',
      id: '77',
      username: 'mira',
      displayName: 'Mira Okafor',
      name: { givenName: 'Mira', familyName: 'Okafor' },
      emails: [{ value: 'mira@example.test' }],
      photos: [{ value: 'https://example.test/mira.png' }],
      verified: true,
      _raw: JSON.stringify(userInfo),
      _json: userInfo,
    });
    expect(of({ user_verified: '0' })).toMatchObject({ verified: false });
  });

  it('leaves out what is absent', () => {
    const few = { user_id: '9', user_name: 'nine' };
    expect(profileOf(few as never, SITE)).toStrictEqual({
      provider: 'marketplace',
      id: '9',
      username: 'nine',
      displayName: 'nine',
      _raw: JSON.stringify(few),
      _json: few,
    });
  });

  it.each([
    ['photos/1.png', 'https://market.example/x/photos/1.png'],
    ['/1.png', 'https://market.example/1.png'],
    ['http://cdn.example/1.png', 'http://cdn.example/1.png'],
    ['javascript:alert(1)', undefined],
    ['', undefined],
  ])('has for the picture %j %j', (user_picture, value) => {
    expect(of({ user_picture }).photos).toEqual(value && [{ value }]);
  });

  it('leaves out of its text what is nested deeper than the stack', () => {
    let deep: unknown = [];
    for (let i = 0; i < 20_000; i++) deep = [deep];
    expect(JSON.parse(of({ trace: deep })._raw)).toEqual(userInfo);
  });
});
