// A subject: what loading some modules costs a new process.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** @param {{ modules: string[], isRequired?: boolean }} options */
export default async function makeImport({ modules, isRequired }) {
  const load = isRequired ? require : (name) => import(name);
  return {
    async load() {
      globalThis.gc();
      const begun = process.cpuUsage();
      for (const name of modules) await load(name);
      const { user, system } = process.cpuUsage(begun);
      return { cpu: (user + system) / 1000 };
    },
  };
}
