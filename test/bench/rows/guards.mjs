import { measurePairs } from '../harness/measure-pairs.mjs';
import { measureServer } from '../harness/measure-server.mjs';
import { startProcess } from '../harness/process.mjs';

/** The service and the load generator that rows with a guard need. */
export async function openGuards() {
  const service = await startProcess('fixtures/service.mjs');
  const load = await startProcess('harness/load.mjs');
  return {
    load,
    service: await service.ask('url'),
    close: () => Promise.all([service.stop(), load.stop()]),
  };
}

/** CPU per request of an app with one guard. */
export const measureGuard =
  (express, codes) =>
  async (options, { load, service }) => {
    const headers = codes.map((code) => ({ 'x-purchase-code': code }));
    const all = { express, service, codes, ...options };
    const { cpu, answer } = await measureServer('subjects/guard-server.mjs', all, {
      load,
      headers,
    });
    return { cpu, answer };
  };

/** What a guard adds to the CPU per request of the bare route, which the same process serves. */
export const measureAdded =
  (express, codes) =>
  (options, { load, service }) => {
    const all = { express, service, codes, ...options };
    const headers = all.codes.map((code) => ({ 'x-purchase-code': code }));
    return measurePairs('subjects/guard-server.mjs', all, { load, headers });
  };

export const ADDED = {
  name: 'added',
  title: 'CPU added to a request, µs',
  limit: 'hand-written, synchronous',
};

export const CPU = { name: 'cpu', title: 'CPU per request, µs' };
