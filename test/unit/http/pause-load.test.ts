import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openShop, visits } from './simulation/simulated-shop.js';
import { SimulatedTime } from './simulation/simulated-time.js';

let time: SimulatedTime;
beforeEach(() => {
  time = SimulatedTime.begin();
});
afterEach(() => time.end());

describe('a service that asks for a pause', () => {
  it('gets no request in it, from however many callers, and no storm after it', async () => {
    const shop = openShop(time);
    shop.behave = { answer: '429', after: 10, retryAfter: 30 };
    shop.visit();
    await time.pass(10);
    shop.behave = { answer: 'yes', after: 10 };
    const before = shop.service.count();
    await visits(shop, 290, 100);
    expect(shop.service.count()).toBe(before);
    await time.pass(1000);
    await visits(shop, 100, 10);
    await time.pass(1000);
    expect(shop.service.count() - before).toBe(100);
  });

  it('also from those who were waiting to try again', async () => {
    const shop = openShop(time);
    shop.behave = { answer: '500', after: 1 };
    await visits(shop, 3);
    await time.pass(2);
    shop.behave = { answer: '429', after: 1, retryAfter: 60 };
    await visits(shop, 1);
    await time.pass(5);
    const before = shop.service.count();
    await time.pass(30_000);
    expect(shop.service.count()).toBe(before);
    expect(shop.ends).toHaveLength(4);
  });
});
