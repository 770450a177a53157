import express from 'express';
import request from 'supertest';
import { beforeEach, describe, expect, it } from 'vitest';
import { at, exchange, type Running, start } from './support.js';

const PATH = '/api/purchases/validation';

let running: Running;
beforeEach(async () => {
  running = await start();
});

it('validation reads its parameters from a form, a multipart body, JSON or the query', async () => {
  const purchase_code = running.code('supported');
  expect((await running.validate(purchase_code)).status).toBe(200);
  const parameters = { api_key: running.apiKey, purchase_code };
  const json = await running.postJson(PATH, parameters);
  const query = await running.post(`${PATH}?${new URLSearchParams(parameters)}`, {});
  const fields = new FormData();
  for (const [name, value] of Object.entries(parameters)) fields.set(name, value);
  const multipart = await running.send(PATH, { method: 'POST', body: fields });
  for (const { body } of [json, query, multipart])
    expect(at(body, 'data.purchase.item.id')).toBe(1042);
});

describe('a parameter that is', () => {
  it('blank is missing: 400; blanks around it are trimmed', async () => {
    expect((await running.validate(`  ${running.code('supported')}\n`)).status).toBe(200);
    const { status, body } = await running.validate('\t \n');
    expect(status).toBe(400);
    expect(body).toEqual({ status: 'error', msg: 'The purchase code field is required.' });
  });

  it.each([
    [123, 'The purchase code must be a string.'],
    [{ a: 1 }, 'The purchase code must be a string.'],
    [null, 'The purchase code field is required.'],
  ])('%j in JSON is refused: 400', async (purchase_code, msg) => {
    const { apiKey: api_key } = running;
    const { status, body } = await running.postJson(PATH, { api_key, purchase_code });
    expect([status, body.msg]).toEqual([400, msg]);
  });

  it('repeated, or a file, is refused: 400', async () => {
    for (const value of [new Blob(['x']), 'x']) {
      const body = new FormData();
      for (const each of [value, value]) body.append('purchase_code', each as string);
      body.set('api_key', running.apiKey);
      const { status, body: answer } = await running.send(PATH, { method: 'POST', body });
      expect([status, answer.msg]).toEqual([400, 'The purchase code must be a string.']);
    }
    const { status } = await running.get(`/api/items/all?api_key=${running.apiKey}&api_key=x`);
    expect(status).toBe(400);
  });

  it('nested is missing: 400, also below an app that parses it', async () => {
    const shop = express().set('query parser', 'extended').use(running.sandbox.app);
    for (const app of [running.sandbox.app, shop]) {
      const path = `/api/items/item?api_key=${running.apiKey}&item_id[]=1042`;
      const { status, body } = await request(app).get(path);
      expect([status, body.msg]).toEqual([400, 'The item id field is required.']);
    }
  });

  it.each([
    ['abc', 400, 'The item id must be an integer.'],
    ['1042.5', 400, 'The item id must be an integer.'],
    ['-1042', 404, 'Item Not Found'],
    ['99999999999999999999', 404, 'Item Not Found'],
  ])('item_id %s: %i %s', async (id, ...expected) => {
    const { status, body } = await running.get(
      `/api/items/item?api_key=${running.apiKey}&item_id=${id}`,
    );
    expect([status, body.msg]).toEqual(expected);
  });
});

describe('a request nobody can read', () => {
  it.each([
    ['application/json', '{"api_key":"7d1f0c9a', 400],
    ['application/json', `{"pad":"${'x'.repeat(200_000)}"}`, 413],
    ['application/x-www-form-urlencoded; charset=koi8-r', 'api_key=x', 415],
    ['multipart/form-data; boundary=b', '--b\r\n7d1f0c9a', 400],
  ])('%s %.12s…: %i in its own style, without stack or body', async (type, body, status) => {
    const headers = { 'content-type': type };
    const answer = await running.send(PATH, { method: 'POST', headers, body });
    expect(answer.status).toBe(status);
    expect(answer.body.status).toBe('error');
    expect(JSON.stringify(answer.body)).not.toMatch(/7d1f0c9a|\bat .*\.[jt]s|node_modules/);
  });

  it('the login API answers in its own style', async () => {
    const { status, body } = await exchange(running, 'x'.repeat(200_000));
    expect(status).toBe(413);
    expect(body).toEqual({ error: true, message: 'The request body is too large.' });
  });

  const GET_ONLY = 'This endpoint takes GET requests only.';
  const NO_ENDPOINT = 'There is no such endpoint.';
  it.each([
    ['POST', '/api/account/details', 405, 'GET', { status: 'error', msg: GET_ONLY }],
    ['GET', PATH, 405, 'POST', { status: 'error', msg: GET_ONLY.replace('GET', 'POST') }],
    ['PUT', '/api/get_user_info', 405, 'GET', { error: true, message: GET_ONLY }],
    ['GET', '/api/items/foo', 404, null, { status: 'error', msg: NO_ENDPOINT }],
    ['POST', '/api/foo', 404, null, { error: true, message: NO_ENDPOINT }],
  ])('%s %s: %i, Allow: %s, %j', async (method, path, expected, allow, json) => {
    const { status, headers, body } = await running.send(path, { method });
    expect([status, headers.get('allow'), body]).toEqual([expected, allow, json]);
  });

  it.each([
    ['/nothing', 404],
    ['/preview/%E0%A4%A', 400],
  ])('%s: a page with HTTP %i, no stack', async (path, expected) => {
    const { status, text } = await running.get(path);
    expect([status, text]).toEqual([expected, expect.stringContaining('<h1>That did not work')]);
    expect(text).not.toMatch(/node_modules|URIError/);
  });
});
