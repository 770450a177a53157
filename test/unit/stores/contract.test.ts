import Keyv from 'keyv';
import {
  EncryptedTokenStore,
  MemoryHolderStore,
  MemoryTokenStore,
  type TokenStore,
} from 'marketgate';
import { KeyvTokenStore } from 'marketgate/keyv';
import { describeHolderStore, describeTokenStore } from 'marketgate/testing';
import { beforeEach, describe, expect, it, vi } from 'vitest';

const keys = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
// The namespace is the beginning of the prefix: there Keyv 5 would take a key for one that has it.
const odd = { namespace: 'a', serialize: undefined, deserialize: undefined };

const STORES: Record<string, () => TokenStore> = {
  MemoryTokenStore: () => new MemoryTokenStore(),
  'KeyvTokenStore on memory': () => new KeyvTokenStore({ keyv: new Keyv() }),
  'KeyvTokenStore in an odd namespace and with an odd prefix': () =>
    new KeyvTokenStore({ keyv: new Keyv(odd), prefix: 'a:' }),
  'EncryptedTokenStore over memory': () =>
    new EncryptedTokenStore(new MemoryTokenStore(), { keys }),
  'EncryptedTokenStore over Keyv': () =>
    new EncryptedTokenStore(new KeyvTokenStore({ keyv: new Keyv() }), { keys }),
};

// What the suite waits for passes at once.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  vi.setTimerTickMode('nextTimerAsync');
});

for (const [name, make] of Object.entries(STORES)) {
  const setup = () => ({ store: make() });
  describeTokenStore(`${name} keeps the contract`, setup, { describe, it, expect });
}

describeHolderStore(
  'MemoryHolderStore keeps the contract',
  () => ({ store: new MemoryHolderStore() }),
  { describe, it, expect },
);
