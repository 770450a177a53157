import { describeSharedCache } from '../../support/describe-shared-cache.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';

// What the tests of fleets take for Redis keeps the contract that Redis keeps.
describeSharedCache('MemorySharedCache', () => {
  let now = 0;
  const advance = (milliseconds: number) => {
    now += milliseconds;
  };
  return { cache: new MemorySharedCache(() => now), advance };
});
