import { measurePairs } from '../harness/measure-pairs.mjs';
import { startProcess } from '../harness/process.mjs';
import { NEVER_ASKED, WRONG } from '../subjects/refusal-server.mjs';

const TIMES = { name: 'times' };
const REFUSALS = {
  '403, a wrong code that the cache knows': { status: 403, codes: WRONG },
  '429, over the guess limit': { status: 429, codes: NEVER_ASKED },
  '503, after a Retry-After of the service': { status: 503, codes: NEVER_ASKED },
};

export default {
  name: 'refusal',
  title: 'A refusal that asks nobody',
  about: `A visitor is refused without a request to the service. The limit is a middleware by hand that knows the same, makes one
\`Error\` and calls \`next\`, before Express's error handler. In one process, in turn. Three rounds.`,
  rounds: 3,
  variants: REFUSALS,
  /** The service, and the load generator. */
  async open() {
    const service = await startProcess('fixtures/service.mjs');
    const load = await startProcess('harness/load.mjs');
    return { service, load, close: () => Promise.all([service.stop(), load.stop()]) };
  },
  async measure({ status, codes }, { service, load }) {
    // One that allows nothing answers 429, with a Retry-After of an hour, so the gate stays closed for longer than the run.
    await service.ask('allow', ...(status === 503 ? [0, 3600] : []));
    const options = { status, service: await service.ask('url') };
    const headers = codes.map((code) => ({ 'x-purchase-code': code }));
    return measurePairs('subjects/refusal-server.mjs', options, { load, headers });
  },
  goals: Object.keys(REFUSALS).map((variant) => ({
    metric: TIMES,
    variant,
    most: 1.3,
    isAbsolute: true,
    what: `CPU of a request, × of one by hand: ${variant}`,
  })),
};
