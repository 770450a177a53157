import { json } from '../../support/service-in-memory.js';
import { describeShape } from '../../support/shape-tests.js';
import { serving, TOKEN } from './login-support.js';

describeShape('user', async (user_info) => {
  const { loginApi } = serving(() => json({ user_info }));
  return loginApi.getUser(TOKEN).catch((error: Error) => error);
});
