import { describe, expect, it } from 'vitest';
import { type Running, start } from './support.js';

describe('the switches of the console as JSON', () => {
  const patch = async (running: Running, body: string, headers = {}) => {
    const response = await fetch(`${running.baseUrl}/sandbox/console/switches`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    return { status: response.status, text: await response.text() };
  };

  it('says of each where it stands and what it does', async () => {
    const running = await start({ dialect: { nulls: true } });
    const { body } = await running.get('/sandbox/console/switches');
    const { sandbox } = running;
    expect(Object.keys(Object(body.faults))).toEqual(Object.keys(sandbox.faults));
    expect(Object.keys(Object(body.dialect))).toEqual(Object.keys(sandbox.dialect));
    expect(body).toMatchObject({
      faults: { only: { value: null, initial: null } },
      dialect: { nulls: { value: true, initial: false, about: expect.stringMatching(/\w/) } },
    });
  });

  it('sets some and puts others back, and leaves the rest alone', async () => {
    const running = await start({ dialect: { nulls: true, microseconds: true } });
    const changes = { faults: { errorRate: 0.5 }, dialect: { nulls: null, errors: 'http' } };
    expect((await patch(running, JSON.stringify(changes))).status).toBe(200);
    expect(running.sandbox.faults.errorRate).toBe(0.5);
    expect({ ...running.sandbox.dialect }).toMatchObject({
      nulls: false,
      errors: 'http',
      microseconds: true,
    });
  });

  it.each([
    ['{"faults":{"bom":true,"latancy":5}}', 'faults.latancy: there is no such switch'],
    ['{"faults":{"bom":true},"dialect":{"errors":"no"}}', 'dialect.errors: expected'],
    ['{"faults":{"bom":true},"data":{}}', 'data: expected faults or dialect'],
    ['{"faults":{"bom":true,"__proto__":{"latency":1}}}', '__proto__: there is no such switch'],
    ['{"faults":{"bom":true,"redirect":{"status":200}}}', 'faults.redirect: expected'],
    ['{"faults":{"bom":true,"rateLimit":{"form":"x"}}}', 'faults.rateLimit: expected'],
    ['{"faults":{"bom":true,"contentType":"a\\r\\nb"}}', 'faults.contentType: expected'],
    ['{"faults":[]}', 'faults: expected an object'],
    ['[]', 'expected an object'],
  ])('%s sets nothing at all', async (body, sentence) => {
    const running = await start();
    const { status, text } = await patch(running, body);
    expect(status).toBe(400);
    expect(JSON.parse(text).message).toContain(sentence);
    expect(running.sandbox.faults.bom).toBe(false);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded'])(
    'a body of type %s, which any website may send, is not read',
    async (type) => {
      const running = await start();
      const body = '{"faults":{"bom":true}}';
      expect((await patch(running, body, { 'content-type': type })).status).toBe(400);
      expect(running.sandbox.faults.bom).toBe(false);
    },
  );
});
