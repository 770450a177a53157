import { expect, it } from 'vitest';
import { json } from '../../support/service-in-memory.js';
import { serving } from '../clients/login-support.js';
import { endOf } from './support.js';

/** How the exchanges of auth_keys end for one client, who has one guess. */
function exchanges(message: string, times: number) {
  const { loginApi, service } = serving(() => json({ message }, 401), { guessLimit: { limit: 1 } });
  const ask = (_: unknown, n: number) => endOf(loginApi.exchange(`key-${n}`, { client: 'anna' }));
  return { service, ends: Promise.all(Array.from({ length: times }, ask)) };
}

it('a login that the service refuses is a guess', async () => {
  const { ends, service } = exchanges('Invalid auth_key', 2);
  expect(await ends).toEqual(['auth_key_rejected', 'too_many_attempts']);
  expect(service.count()).toBe(1);
});

it('a login is no guess where the service refuses the credentials of the app', async () => {
  expect(await exchanges('Invalid app_secret', 3).ends).toEqual(
    Array(3).fill('app_credentials_rejected'),
  );
});
