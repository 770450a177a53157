import Keyv from 'keyv';
import {
  EncryptedTokenStore,
  MemoryHolderStore,
  MemoryTokenStore,
  type TokenStore,
} from 'marketgate';
import { KeyvTokenStore } from 'marketgate/keyv';
import { describeHolderStore, describeTokenStore } from 'marketgate/testing';
import { describe, expect, it, vi } from 'vitest';
import { HandClock } from './support.js';

const keys = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
// The namespace is the beginning of the prefix: there Keyv 5 would take a key for one that has it.
const odd = { namespace: 'a', serialize: undefined, deserialize: undefined };

const STORES: Record<string, (clock: () => number) => TokenStore> = {
  MemoryTokenStore: (clock) => new MemoryTokenStore({ clock }),
  'KeyvTokenStore on memory': (clock) => new KeyvTokenStore({ keyv: new Keyv(), clock }),
  'KeyvTokenStore in an odd namespace and with an odd prefix': (clock) =>
    new KeyvTokenStore({ keyv: new Keyv(odd), prefix: 'a:', clock }),
  'EncryptedTokenStore over memory': (clock) =>
    new EncryptedTokenStore(new MemoryTokenStore({ clock }), { keys }),
  'EncryptedTokenStore over Keyv': (clock) =>
    new EncryptedTokenStore(new KeyvTokenStore({ keyv: new Keyv(), clock }), { keys }),
};

for (const [name, make] of Object.entries(STORES)) {
  const setup = () => {
    const { clock, advance } = new HandClock();
    return { store: make(clock), clock, advance };
  };
  describeTokenStore(`${name} keeps the contract`, setup, { describe, it, expect });
}

describeHolderStore(
  'MemoryHolderStore keeps the contract',
  () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    return {
      store: new MemoryHolderStore(),
      cooldown: { store: new MemoryHolderStore({ cooldown: 1000 }), milliseconds: 1000 },
      advance: (milliseconds) => void vi.advanceTimersByTime(milliseconds),
    };
  },
  { describe, it, expect },
);
