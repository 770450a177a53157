import { KeyApi } from 'marketgate';

const shared = {
  read: async () => ({ order: 0, now: Date.now() * 1000 }),
  write: async () => true,
  delete: async () => {},
  lock: async () => undefined,
  publish: async () => {},
  subscribe: async () => async () => {},
};
