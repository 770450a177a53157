import assert from 'node:assert/strict';
import session from 'cookie-session';
import { runShop } from './shop.mjs';
import { serveWithSession } from './with-session.mjs';

// Passport cannot renew such a session. So the login is refused at its start, when nothing is spent; and it
// works for an app that keeps the login itself.
runShop(async (parts) => {
  const shop = await serveWithSession(parts, session({ name: 'shop', keys: ['a key'] }), {
    session: false,
  });
  return {
    ...shop,
    async check({ ask }) {
      const { status, text } = await ask('/login-with-session');
      assert.equal(status, 500);
      assert.match(text, /this one has no regenerate\(\) \(cookie-session has none\)/);
      assert.deepEqual(JSON.parse((await ask('/me')).text), { id: '3001' });
    },
  };
});
