import { afterEach, vi } from 'vitest';

// Like mocks, time that a test has moved by hand ends with the test.
afterEach(() => void vi.useRealTimers());
