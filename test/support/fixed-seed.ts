import fc from 'fast-check';

// Tests draw the same random cases in every run. `npm run fuzz` draws others, unless `FUZZ_SEED` says which.
const { FUZZ_CASES, FUZZ_SEED } = process.env;
fc.configureGlobal({
  seed: Number(FUZZ_SEED ?? (FUZZ_CASES ? Date.now() % 2 ** 31 : 1)),
});
