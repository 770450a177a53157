import { LoginApi } from 'marketgate';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Behaviour, SimulatedService } from './simulation/simulated-service.js';
import { DEAD } from './simulation/simulated-shop.js';
import { SimulatedTime } from './simulation/simulated-time.js';

const CALLERS = 600;

let time: SimulatedTime;
beforeEach(() => {
  time = SimulatedTime.begin();
});
afterEach(() => time.end());

describe('logging in during an outage', () => {
  const open = (behave: Behaviour) => {
    const service = new SimulatedService(time.now, () => behave);
    const loginApi = new LoginApi({
      authUrl: 'https://simulated.test',
      appId: 'app',
      appSecret: 'secret-of-the-app',
      clock: time.now,
      dispatcher: service,
    });
    return { service, loginApi };
  };

  it.each(DEAD)('%s: each auth_key is sent once at most', async (_name, behave) => {
    const { service, loginApi } = open(behave);
    let ended = 0;
    for (let n = 0; n < CALLERS; n++) {
      const done = (): void => void ended++;
      loginApi.exchange(`auth-key-${n}`).then(done, done);
      if (n % 20 === 19) await time.pass(250);
    }
    await time.pass(60_000);
    expect(ended).toBe(CALLERS);
    expect(service.count()).toBeLessThanOrEqual(CALLERS);
  });

  it.each(DEAD)('%s: user info asks at most 1.1 times a caller', async (_name, behave) => {
    const { service, loginApi } = open(behave);
    let ended = 0;
    for (let n = 0; n < CALLERS; n++) {
      const done = (): void => void ended++;
      loginApi.getUser(`token-${n}`).then(done, done);
      if (n % 60 === 59) await time.pass(100);
    }
    await time.pass(60_000);
    expect(ended).toBe(CALLERS);
    expect(service.count() / CALLERS).toBeLessThanOrEqual(1.1);
  });
});
