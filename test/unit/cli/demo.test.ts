import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { cli } from './support.js';

it('demo prints what the shop asks of the marketplace, and no pictures that a browser loads', async () => {
  const whileRunning = async (printed: string) => {
    const [, port = ''] = /http:\/\/localhost:(\d+)/.exec(printed) ?? [];
    const page = await (await fetch(`http://127.0.0.1:${port}`)).text();
    const [, picture = ''] = /<img src="(http[^"]+)"/.exec(page) ?? [];
    expect((await fetch(picture)).status).toBe(200);
  };
  const { code, out } = await cli(['demo', '--port', '0'], {}, { whileRunning });
  expect([code, out]).toEqual([0, expect.stringContaining('GET /api/items/all 200')]);
  expect(out).not.toContain('/media/');
});

it('demo names the address of its marketplace in the command to refund, unless it is found', async () => {
  const other = { MARKETPLACE_BASE_URL: 'https://other.example' };
  const { out } = await cli(['demo', '--port', '0'], other);
  expect(out).toMatch(/sandbox refund [\w-]+ --url http:\/\/127\.0\.0\.1:\d+$/m);
});

it('demo calls a port taken that another server has on the IPv6 address of localhost', async ({
  skip,
}) => {
  const other = createServer().listen(0, '::1');
  onTestFinished(() => void other.close());
  await once(other, 'listening').catch(() => skip('this machine has no ::1'));
  const { port } = other.address() as AddressInfo;
  const { code, err } = await cli(['demo', '--port', String(port)]);
  expect([code, err]).toEqual([2, expect.stringContaining(`Port ${port} is taken`)]);
});
