import { measurePairs } from '../harness/measure.mjs';
import { startAll } from '../harness/process.mjs';
import { NEVER_ASKED, WRONG } from '../subjects/refusal-server.mjs';

export default {
  title: 'A refusal',
  about: `Express 5: a visitor is refused without a request to the service. By hand: a middleware that knows the same, makes one \`Error\`
and calls \`next\`.`,
  cases: {
    '403, a wrong code that the cache knows': { status: 403, codes: WRONG },
    '429, over the guess limit': { status: 429, codes: NEVER_ASKED },
    '503, after a Retry-After of the service': { status: 503, codes: NEVER_ASKED },
  },
  open: () => startAll({ service: 'fixtures/service.mjs', load: 'harness/load.mjs' }),
  async measureBoth({ status, codes }, { service, load }) {
    // A service that allows nothing answers 429 with a Retry-After of an hour; the breaker opens for a minute at a time.
    await service.ask('allow', ...(status === 503 ? [0, 3600] : []));
    const options = { status, service: await service.ask('url') };
    const headers = codes.map((code) => ({ 'x-purchase-code': code }));
    return measurePairs('subjects/refusal-server.mjs', options, { load, headers });
  },
  metrics: [{ key: 'cpu', title: 'CPU of a request, µs', most: 1.3 }],
};
