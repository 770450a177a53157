// One process of an app while servers of Redis fail. Its traffic goes on all the time; what it finds at the end
// goes to the parent.
const { randomUUID } = require('node:crypto');
const { checkPurchase, KeyApi } = require('marketgate');
const {
  RedisCache,
  RedisGuessLimit,
  RedisHolderStore,
  RedisTokenStore,
} = require('marketgate/redis');

const { KIND, TOPOLOGY, PORTS, SERVICE, INDEX } = process.env;
const ports = JSON.parse(PORTS);
const { baseUrl, apiKey, codes, refunded } = JSON.parse(SERVICE);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** The most accounts that hold one code. */
const MAX_HOLDERS = 3;
const nodes = ports.map((port) => ({ host: '127.0.0.1', port }));

/** The client, as its documentation makes it. */
async function connect() {
  if (KIND === 'redis') {
    const { createCluster, createSentinel } = require('redis');
    const rootNodes = nodes.map(({ host, port }) => ({ url: `redis://${host}:${port}` }));
    const client =
      TOPOLOGY === 'cluster'
        ? createCluster({ rootNodes })
        : createSentinel({ name: 'shop', sentinelRootNodes: nodes });
    client.on('error', () => {});
    await client.connect();
    return client;
  }
  const { Cluster, Redis } = require(KIND);
  const client =
    TOPOLOGY === 'cluster'
      ? new Cluster(nodes)
      : new Redis({ sentinels: nodes, name: 'shop', failoverDetector: true });
  // As the Redis guide says: the detector can end a client that is connecting.
  const again = () => client.connect().catch(() => {});
  client.on('end', () => setTimeout(again, 100));
  return client.on('error', () => {});
}

/** What `Seen` of failover.ts says. */
const seen = {
  ...{ wrong: [], crowded: [], verdicts: 0, claims: [] },
  ...{ tokens: [], holds: [], lost: [], longestOut: 0, slowest: 0 },
};
let outSince;
const takenAt = new Map();

/** A call of a store. It can fail, but says so. */
async function stored(call) {
  const before = performance.now();
  try {
    const result = await call();
    outSince = undefined;
    return { result };
  } catch (error) {
    if (error.code !== 'store_unavailable') throw error;
    outSince ??= before;
    seen.longestOut = Math.max(seen.longestOut, performance.now() - outSince);
    return undefined;
  } finally {
    seen.slowest = Math.max(seen.slowest, performance.now() - before);
  }
}

/** The same, again and again, after the failovers. */
async function readBack(call) {
  let found = await stored(call);
  for (let i = 0; i < 10 && !found; i++) found = await stored(call);
  return found?.result;
}

async function main() {
  const client = await connect();
  const shared = new RedisCache({ client, subscriber: await connect() });
  // So many that no failed attempt of this traffic is refused.
  const guessLimit = new RedisGuessLimit({ client, limit: 100, total: 1_000_000 });
  const keyApi = new KeyApi({ baseUrl, apiKey, cache: { shared }, guessLimit });
  const tokenStore = new RedisTokenStore({ client });
  const holderStore = new RedisHolderStore({ client, secret: 'x'.repeat(32) });
  let isOn = true;
  let tick = 0;

  const check = async (code, expected, fresh = false) => {
    const options = { client: randomUUID(), fresh };
    const { verdict, denial, error } = await checkPurchase(keyApi, code, options);
    seen.verdicts++;
    if (verdict !== expected) seen.wrong.push(`${expected}: ${(denial ?? error)?.message}`);
    return verdict;
  };
  const traffic = [
    () => check(codes[tick % codes.length], 'valid', tick % 5 === 0),
    () => check(randomUUID(), 'invalid'),
    async () => {
      const id = `${INDEX}-${tick}`;
      const now = Date.now();
      const token = { value: randomUUID(), issuedAt: now, expiresAt: now + 3_600_000 };
      if ((await stored(() => tokenStore.set(id, token))) === undefined) return;
      seen.tokens.push(id);
      takenAt.set(id, Date.now());
    },
    async () => {
      const id = seen.tokens[Math.floor(Math.random() * seen.tokens.length)];
      const found = id && (await stored(() => tokenStore.get(id)));
      if (found && found.result === undefined) seen.lost.push(takenAt.get(id));
    },
    async () => {
      // All processes want the same ones.
      const name = `claim-${Math.floor(Date.now() / 50)}`;
      const claimed = await stored(() => tokenStore.claim(name, 3_600_000));
      if (claimed?.result) seen.claims.push([name, Date.now()]);
    },
    async () => {
      // Accounts of all processes want the same ones, each time another account.
      const code = `code-${Math.floor(Date.now() / 50)}`;
      const holder = `${INDEX}-${tick}`;
      const taken = await stored(() => holderStore.take(code, holder, MAX_HOLDERS));
      if (taken?.result) seen.holds.push({ code, holder, at: Date.now() });
    },
  ];
  const running = traffic.map(async (one) => {
    while (isOn) {
      tick++;
      await one();
      await sleep(10);
    }
  });

  const commands = {
    /** The service is asked about a code that was refunded: this is how an app hears of it. */
    hear: ({ code }) => check(code, 'invalid', true),
    async end() {
      isOn = false;
      await Promise.all(running);
      // What could not be told in the failover is told soon after.
      for (const code of refunded) {
        let left = 100;
        while ((await keyApi.validatePurchase(code)) !== null && left-- > 0) await sleep(100);
        if (left < 0) seen.wrong.push('a refunded purchase is still valid');
      }
      for (const id of seen.tokens) {
        const token = await readBack(() => tokenStore.get(id));
        if (token === undefined) seen.lost.push(takenAt.get(id));
      }
      for (const { code, holder, at } of seen.holds) {
        const holders = (await readBack(() => holderStore.holders(code))) ?? [];
        if (holders.length > MAX_HOLDERS) seen.crowded.push(`${code}: ${holders.length}`);
        if (!holders.includes(holder)) seen.lost.push(at);
      }
      const { tokens, holds } = seen;
      process.send({ seen: { ...seen, tokens: tokens.length, holds: holds.length } });
    },
  };
  process.on('message', ({ command, ...input }) => commands[command](input));
  for (const code of [...codes, ...refunded]) await check(code, 'valid');
  process.send({ ready: true });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
