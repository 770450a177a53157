import { describeSharedCache } from '../../support/describe-shared-cache.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { HandClock } from '../stores/support.js';

// What the tests of fleets take for Redis keeps the contract that Redis keeps.
describeSharedCache('MemorySharedCache', () => {
  const { clock, advance } = new HandClock();
  return { cache: new MemorySharedCache(clock), advance };
});
