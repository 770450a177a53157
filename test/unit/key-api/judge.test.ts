import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/http/http-client.js';
import type { Endpoint } from '../../../src/key-api/endpoints.js';
import { judge, NO } from '../../../src/key-api/judge.js';
import type { Judging } from '../../../src/key-api/load-readers.js';
import { everythingOf, rejection } from '../../support/errors.js';

const THING = { n: 1 };
const SECRET = 'the-secret-key';

/** An endpoint whose payload is `thing`, where that is an object. */
const endpointOf = (column: 'account' | 'keyApi', isSlow = false): Endpoint<object> => ({
  method: 'GET',
  path: '/api/things/thing',
  column,
  no: 'No Such Thing',
  noStatuses: [404],
  payload: ({ thing }) => {
    if (thing === undefined) return undefined;
    const shaped =
      thing === null || typeof thing !== 'object'
        ? ({ ok: false, problem: `thing: expected object, not ${SECRET}` } as const)
        : ({ ok: true, value: thing } as const);
    return isSlow ? Promise.resolve(shaped) : shaped;
  },
});

const json = (value: unknown, status = 200): Answer => ({ status, body: { isJson: true, value } });

/** What an answer comes to, read at once and in slices. */
async function judged(answer: Answer, column: 'account' | 'keyApi' = 'keyApi'): Promise<unknown> {
  const each = [false, true].map(async (isSlow) =>
    judge(endpointOf(column, isSlow), answer, [SECRET], {} as Judging),
  );
  const [atOnce, inSlices] = await Promise.allSettled(each);
  expect(inSlices).toEqual(atOnce);
  return each[0];
}

describe('an answer', () => {
  it.each([200, 201, 404, 500])(
    'with its payload is that, whatever its HTTP status: %d',
    async (status) => {
      expect(await judged(json({ status: 'success', thing: THING }, status))).toBe(THING);
    },
  );

  it('is no promise where nothing had to be waited for', () => {
    expect(judge(endpointOf('keyApi'), json({ thing: THING }), [], {} as Judging)).toBe(THING);
    expect(
      judge(endpointOf('keyApi', true), json({ thing: THING }), [], {} as Judging),
    ).toBeInstanceOf(Promise);
  });

  it.each([{ thing: THING }, { status: 7, thing: THING }, { status: 'ok', thing: THING }])(
    'is told by its payload and not by its status: %j',
    async (body) => {
      expect(await judged(json(body))).toBe(THING);
    },
  );

  it.each(['error', 'Error', 'ERROR'])('whose status is %j has none', async (status) => {
    const error = await rejection(judged(json({ status, thing: THING })));
    expect(error.code).toBe('unexpected_response');
    expect(error.message).toContain('JSON of another shape');
  });
});

describe('a no', () => {
  it.each([
    [{ status: 'error', msg: 'No Such Thing' }, 200],
    [{ status: 'ERROR', msg: 'no such THING' }, 400],
    [{ msg: 'in other words' }, 404],
    [{ status: 'error', msg: '' }, 404],
    [{ status: 'error', msg: 'No Such Thing', thing: THING }, 200],
    [{ status: 'success', msg: 'in other words', thing: 7 }, 404],
  ])('is %j with HTTP %d', async (body, status) => {
    expect(await judged(json(body, status))).toBe(NO);
  });

  it('to account/details is a rejected key, and says what to do', async () => {
    const error = await rejection(judged(json({ msg: 'x' }, 404), 'account'));
    expect(error.code).toBe('api_key_rejected');
    expect(error.message).toMatch(/^GET \/api\/things\/thing: .*api_key.*"apiKey"/);
  });
});

describe('what is neither', () => {
  it.each<[string, Answer, string, RegExp]>([
    [
      'a 5xx',
      json({ status: 'error', msg: 'No Such Thing' }, 500),
      'service_unavailable',
      /failed \(HTTP 500\)/,
    ],
    ['a 429', json({ msg: 'No Such Thing' }, 429), 'service_unavailable', /too many requests/],
    [
      'a 5xx that is a page',
      { status: 503, body: { isJson: false, what: 'a page' } },
      'service_unavailable',
      /HTTP 503/,
    ],
    [
      'a page',
      { status: 404, body: { isJson: false, what: 'a page' } },
      'unexpected_response',
      /got a page \(HTTP 404\)/,
    ],
    [
      'a list',
      json([{ msg: 'x' }], 404),
      'unexpected_response',
      /JSON of another shape \(HTTP 404\)/,
    ],
    ['null', json(null, 404), 'unexpected_response', /JSON of another shape/],
    ['no msg', json({ status: 'error' }, 404), 'unexpected_response', /JSON of another shape/],
    [
      'a msg that is no text',
      json({ status: 'error', msg: ['No Such Thing'] }),
      'unexpected_response',
      /another shape/,
    ],
    [
      'a broken payload',
      json({ status: 'success', thing: 7 }),
      'unexpected_response',
      /documented shape: thing: expected object/,
    ],
    [
      'a broken payload with a msg',
      json({ thing: 7, msg: 'No Such Thing' }),
      'unexpected_response',
      /documented shape/,
    ],
    [
      'another msg',
      json({ status: 'error', msg: 'Too late' }, 400),
      'service_refused',
      /refused \(HTTP 400\): "Too late"/,
    ],
    [
      'the no of a success',
      json({ status: 'success', msg: 'No Such Thing' }),
      'service_refused',
      /No Such Thing/,
    ],
    ['the no without a status', json({ msg: 'No Such Thing' }), 'service_refused', /No Such Thing/],
    [
      'another status of a translated no',
      json({ status: 'error', msg: 'Nichts' }, 403),
      'service_refused',
      /Nichts/,
    ],
  ])('%s', async (_name, answer, code, message) => {
    const error = await rejection(judged(answer));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
    expect(error.message).toMatch(/^GET \/api\/things\/thing: /);
  });

  it('repeats no secret, neither of a refusal nor of what was wrong', async () => {
    for (const body of [{ msg: `you are ${SECRET}` }, { thing: 7 }]) {
      const error = await rejection(judged(json(body)));
      expect(everythingOf(error)).not.toContain(SECRET);
      expect(error.message).toContain('[redacted]');
    }
  });
});
