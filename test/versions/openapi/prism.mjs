// Every call of the clients, in every encoding, through a proxy that refuses what is not as the document says.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { KeyApi, LoginApi } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';

const sandbox = createSandbox({ redirectUrl: 'http://localhost:3000/callback' });
const { baseUrl, apiKey, appId, appSecret } = await sandbox.listen(0);
const prism = spawn(
  process.execPath,
  ['node_modules/.bin/prism', 'proxy', process.argv[2], baseUrl, '--errors', '--port', '0'],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
const url = await new Promise((resolve) => {
  let said = '';
  prism.stdout.on('data', (text) => {
    said += text;
    const [found] =
      /http:\/\/127\.0\.0\.1:[1-9]\d*/.exec(said.split('listening on')[1] ?? '') ?? [];
    if (found) resolve(found);
  });
});
try {
  const { code } = sandbox.codes.find(({ kind }) => kind === 'supported');
  for (const validationEncoding of ['form', 'json', 'query']) {
    const keyApi = new KeyApi({ baseUrl: url, apiKey, validationEncoding, cache: false });
    assert.equal((await keyApi.validatePurchase(code)).purchase_code, code);
    assert.equal(await keyApi.validatePurchase('no-such-code'), null);
    assert.ok((await keyApi.getAccount()).username);
    assert.ok((await keyApi.listItems()).length > 1);
    assert.equal((await keyApi.getItem(1042)).id, 1042);
    assert.equal(await keyApi.getItem(999_999), null);
    await keyApi.close();
  }
  const body = new FormData();
  body.set('api_key', apiKey);
  body.set('purchase_code', code);
  const multipart = await fetch(`${url}/api/purchases/validation`, { method: 'POST', body });
  assert.equal(multipart.status, 200, await multipart.text());
  for (const authorizeMethod of ['post', 'get']) {
    sandbox.dialect.authorizeMethod = authorizeMethod;
    const loginApi = new LoginApi({ authUrl: url, appId, appSecret, authorizeMethod });
    await assert.rejects(loginApi.exchange('wrong'), { code: 'auth_key_rejected' });
    // One user who has filled in everything, and one next to nothing.
    for (const user of ['3001', '3005']) {
      const callback = new URL(sandbox.acceptLogin(user, { appId }));
      const token = await loginApi.exchange(callback.searchParams.get('auth_key'));
      assert.equal((await loginApi.getUser(token)).user_id, user);
    }
    await assert.rejects(loginApi.getUser('wrong'), { code: 'access_token_expired' });
    await loginApi.close();
  }
} finally {
  prism.kill();
  await sandbox.close();
}
