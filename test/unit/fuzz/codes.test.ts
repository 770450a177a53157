import assert from 'node:assert/strict';
import type { Request } from 'express';
import fc from 'fast-check';
import {
  firstOf,
  fromBody,
  fromHeader,
  fromParams,
  fromQuery,
  fromSession,
  KeyApi,
  requirePurchase,
} from 'marketgate';
import { fakeResponse } from '../../support/fake-response.js';
import { json } from '../../support/service-in-memory.js';
import { account, purchase, refusal, success } from '../../support/wire.js';
import {
  checkError,
  checkPrototypes,
  SECRET,
  secretsOf,
  serviceOf,
  settled,
} from './support/checks.js';
import { fuzz } from './support/fuzz.js';

const SECRETS = secretsOf('apiKey', 'code');
const NOW = 1_800_000_000_000;

/** Characters that a paste brings along: blanks, marks without width, full-width forms, ligatures. */
const DECORATION = [
  ...' \t\n\r\u00a0\u2003\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u202e\u180e\u3000\0\u0301ﬁ４－Ａß\u212a',
];
const fullWidth = (text: string): string =>
  text.replace(/[!-~]/g, (each) => String.fromCodePoint((each.codePointAt(0) ?? 0) + 0xfee0));

const decorated = fc
  .tuple(
    fc.constantFrom(SECRET.code, SECRET.code.toUpperCase(), fullWidth(SECRET.code), 'short', ''),
    fc.array(fc.tuple(fc.constantFrom(...DECORATION), fc.nat(60)), { maxLength: 4 }),
  )
  .map(([code, marks]) =>
    marks.reduce((text, [mark, at]) => text.slice(0, at) + mark + text.slice(at), code),
  );

const anyCode = fc.oneof(
  { weight: 5, arbitrary: decorated },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 140 }) },
  { weight: 1, arbitrary: fc.stringMatching(/^[!-~]{2,6}$/) },
  { weight: 1, arbitrary: fc.stringMatching(/^[!-~]{126,131}$/) },
  { weight: 1, arbitrary: decorated.map((code) => code.padEnd(513, '\u200b')) },
  { weight: 2, arbitrary: fc.anything({ withNullPrototype: true, withBigInt: true }) },
  { weight: 1, arbitrary: fc.array(decorated, { maxLength: 2 }) },
);

const PLACES = ['header', 'body', 'query', 'params', 'session', 'first'] as const;
const source = {
  header: fromHeader('x-purchase-code'),
  body: fromBody(),
  query: fromQuery(),
  params: fromParams(),
  session: fromSession(),
  first: firstOf(fromHeader('x-other'), fromBody('other'), fromQuery()),
};

function requestWith(place: (typeof PLACES)[number], value: unknown): Request {
  const fields = { purchase_code: value };
  const req = {
    headers: place === 'header' ? { 'x-purchase-code': value } : {},
    body: place === 'body' ? fields : undefined,
    query: place === 'query' || place === 'first' ? fields : {},
    params: place === 'params' ? fields : {},
    session: place === 'session' ? fields : undefined,
    ip: '192.0.2.7',
  };
  return req as unknown as Request;
}

/** Section 4: at most 512 characters; trimmed, NFKC, without zero-width; then 4 to 128 visible ASCII characters. */
function codeByContract(value: unknown): string | 'absent' | 'refused' | 'open' {
  if (value === undefined || value === null) return 'absent';
  if (typeof value !== 'string' || value.length > 512) return 'refused';
  const plain = value
    .normalize('NFKC')
    .replace(/[\u200b-\u200d\u2060\ufeff]/g, '')
    .trim();
  // Which other marks have no width is not said.
  if (/\p{Cf}/u.test(plain)) return 'open';
  if (plain === '') return 'absent';
  return /^[!-~]{4,128}$/.test(plain) ? plain : 'refused';
}

function shop() {
  const service = serviceOf((request) => {
    const purchase_code = request.parameter('purchase_code');
    if (request.path.startsWith('/api/account')) return json(success({ data: account }));
    return purchase_code === SECRET.code
      ? json(success({ data: { purchase: { ...purchase, purchase_code } } }))
      : json(refusal('Invalid purchase code'));
  });
  const keyApi = new KeyApi({
    ...{ baseUrl: 'https://market.example', apiKey: SECRET.apiKey, dispatcher: service },
    ...{ cache: { max: 4, maxInvalid: 4 }, clock: () => NOW, retries: 0 },
  });
  return { keyApi, service };
}

fuzz(
  'a purchase code is let in, refused or absent as the contract says, in every place',
  fc.asyncProperty(anyCode, fc.constantFrom(...PLACES), async (value, place) => {
    const { keyApi, service } = shop();
    const guard = requirePurchase(keyApi, { code: source[place], guessLimit: false });
    const ends: unknown[] = [];
    const req = requestWith(place, value);
    const ended = new Promise<void>((resolve) => {
      guard(req, fakeResponse(), (error?: unknown) => {
        ends.push(error);
        setImmediate(resolve);
      });
    });
    assert.ok('value' in (await settled(ended)));
    assert.equal(ends.length, 1, 'next was not called exactly once');
    const code = codeByContract(value);
    if (ends[0] === undefined) {
      assert.ok(code === SECRET.code || code === 'open', 'a stranger was let in');
      assert.equal(req.marketplace?.purchase?.purchase_code, SECRET.code);
    } else {
      const error = checkError(ends[0], SECRETS);
      const expected = code === 'absent' ? 'purchase_required' : 'purchase_code_invalid';
      if (code !== 'open') assert.equal(error.code, expected);
      assert.notEqual(code, SECRET.code, 'a customer was refused');
    }
    const asked = service.count('/api/purchases/validation');
    if (code === 'refused' || code === 'absent') assert.equal(asked, 0, 'the service was asked');
    checkPrototypes();
  }),
);
