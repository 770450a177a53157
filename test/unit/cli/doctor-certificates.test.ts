import { createServer as createHttpsServer } from 'node:https';
import { describe, expect, it } from 'vitest';
import { TestAuthority } from './certificates.js';
import { https, listen } from './servers.js';
import { diagnose, service } from './support.js';

describe('doctor looks at certificates', () => {
  it('a self-signed one: nothing is sent there', async () => {
    const { environment } = await service();
    let asked = 0;
    const server = createHttpsServer(new TestAuthority().selfSigned(), () => asked++);
    server.on('tlsClientError', () => undefined);
    const url = `https://127.0.0.1:${await listen(server)}`;
    const { code, found, said } = await diagnose({ ...environment, MARKETPLACE_BASE_URL: url });
    expect(code).toBe(1);
    expect(found).toMatchObject({
      reachable: 'ok',
      https: 'ok',
      certificate: 'wrong',
      clock: 'skipped',
      api_key: 'skipped',
    });
    expect(said.certificate).toContain('self-signed; NODE_EXTRA_CA_CERTS');
    expect(asked).toBe(0);
  });

  it('one of an authority that is not known here', async () => {
    const { environment } = await service();
    const url = await https(new TestAuthority().issue());
    const { found, said } = await diagnose({ ...environment, MARKETPLACE_BASE_URL: url });
    expect(found).toMatchObject({ certificate: 'wrong', login: 'ok' });
    expect(said.certificate).toContain('its certificate cannot be verified');
  });

  it('none, because the port speaks plain http', async () => {
    const { environment, url } = await service();
    const wrong = { ...environment, MARKETPLACE_BASE_URL: url.replace('http:', 'https:') };
    const { found, said } = await diagnose(wrong);
    expect(found.reachable).toBe('wrong');
    expect(said.reachable).toContain('it does not speak TLS on this port');
  });

  it('of another host of the login, checked on its own', async () => {
    const { environment } = await service();
    const url = await https(new TestAuthority().selfSigned());
    const { found } = await diagnose({ ...environment, MARKETPLACE_AUTH_URL: url });
    expect(found).toMatchObject({
      certificate: 'skipped',
      api_key: 'ok',
      'login certificate': 'wrong',
      'login page': 'skipped',
      app: 'skipped',
    });
  });
});
