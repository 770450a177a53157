import { describe, expect, it } from 'vitest';
import { type Running, start } from './support.js';

describe('the switches of the console as JSON', () => {
  const patch = (running: Running, body: string, type = 'application/json') =>
    running.send('/sandbox/console/switches', {
      method: 'PATCH',
      headers: { 'content-type': type, accept: 'application/json' },
      body,
    });

  it('says of each where it stands and what it does', async () => {
    const running = await start({ dialect: { nulls: true } });
    const { body } = await running.get('/sandbox/console/switches');
    const { sandbox } = running;
    expect(Object.keys(body)).toEqual([
      ...Object.keys(sandbox.faults).map((name) => `faults.${name}`),
      ...Object.keys(sandbox.dialect).map((name) => `dialect.${name}`),
    ]);
    expect(body).toMatchObject({
      'faults.only': { value: null, initial: null },
      'dialect.nulls': { value: true, initial: false, about: expect.stringMatching(/\w/) },
    });
  });

  it('sets some and puts others back, and leaves the rest alone', async () => {
    const running = await start({ dialect: { nulls: true, microseconds: true } });
    const changes = { errorRate: 0.5, 'dialect.nulls': null, 'dialect.errors': 'http' };
    expect((await patch(running, JSON.stringify(changes))).status).toBe(200);
    expect(running.sandbox.faults.errorRate).toBe(0.5);
    expect({ ...running.sandbox.dialect }).toMatchObject({
      nulls: false,
      errors: 'http',
      microseconds: true,
    });
  });

  it.each([
    ['{"bom":true,"latancy":5}', 'latancy: there is no such switch; "marketgate sandbox switches"'],
    ['{"bom":true,"faults.latancy":5}', 'faults.latancy: there is no such switch'],
    ['{"bom":true,"errors":"no"}', 'dialect.errors: expected'],
    ['{"bom":true,"data.users":1}', 'data.users: there is no such switch'],
    ['{"bom":true,"rateLimit":5}', 'rateLimit: there are two; say faults.rateLimit or dialect.'],
    ['{"bom":true,"faults.__proto__":{"latency":1}}', '__proto__: there is no such switch'],
    ['{"bom":true,"redirect":{"status":200}}', 'faults.redirect: expected'],
    ['{"bom":true,"faults.rateLimit":{"form":"x"}}', 'faults.rateLimit: expected'],
    ['{"bom":true,"contentType":"a\\r\\nb"}', 'faults.contentType: expected'],
    ['[]', 'expected an object'],
  ])('%s sets nothing at all', async (body, sentence) => {
    const running = await start();
    const answer = await patch(running, body);
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(sentence)]);
    expect(running.sandbox.faults.bom).toBe(false);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded'])(
    'a body of type %s, which any website may send, is not read',
    async (type) => {
      const running = await start();
      const body = '{"bom":true}';
      expect((await patch(running, body, type)).status).toBe(400);
      expect(running.sandbox.faults.bom).toBe(false);
    },
  );
});
