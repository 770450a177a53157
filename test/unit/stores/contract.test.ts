import Keyv from 'keyv';
import { EncryptedTokenStore, MemoryHolderStore, MemoryTokenStore } from 'marketgate';
import { KeyvTokenStore } from 'marketgate/keyv';
import { describeHolderStore, describeTokenStore } from 'marketgate/testing';
import { beforeEach, describe, it, vi } from 'vitest';

const keys = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
// The namespace is the beginning of the prefix: there Keyv 5 would take a key for one that has it.
const odd = { namespace: 'a', serialize: undefined, deserialize: undefined };

// What a suite waits for passes at once.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  vi.setTimerTickMode('nextTimerAsync');
});

for (const [name, make] of Object.entries({
  MemoryTokenStore: () => new MemoryTokenStore(),
  'KeyvTokenStore in an odd namespace and with an odd prefix': () =>
    new KeyvTokenStore({ keyv: new Keyv(odd), prefix: 'a:' }),
  'EncryptedTokenStore over Keyv': () =>
    new EncryptedTokenStore(new KeyvTokenStore({ keyv: new Keyv() }), { keys }),
})) {
  describeTokenStore(`${name} keeps the contract`, () => ({ store: make() }), { describe, it });
}

describeHolderStore(
  'MemoryHolderStore keeps the contract',
  () => ({ store: new MemoryHolderStore() }),
  { describe, it },
);
