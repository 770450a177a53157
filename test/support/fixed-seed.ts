import fc from 'fast-check';
import { reportOf } from './random-cases.js';

// Tests draw the same random cases in every run. `npm run fuzz` draws others.
fc.configureGlobal({
  seed: 1,
  reporter: (details) => {
    if (details.failed) throw new Error(reportOf(details), { cause: details.errorInstance });
  },
});
