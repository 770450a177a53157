/** What is tried with what. A major stands for its newest release; the floors are the oldest we allow. */
export const NODES = ['20', '22', '24', '26'] as const;

/** Packages by their names, with ranges. */
export type Packages = Readonly<Record<string, string>>;

/** As in `express@^5 koa`; without a range the newest, which npm takes for whatever Node it runs on. */
function packagesOf(names: string): Packages {
  const all = names.split(' ').map((each) => {
    const [, name = '', range] = /^(@?[^@]+)@?(.*)$/.exec(each) ?? [];
    return [name, range || '*'];
  });
  return Object.fromEntries(all);
}

/** One set of packages that a user may have beside marketgate. */
export interface Setup {
  readonly name: string;
  readonly packages: Packages;
  readonly client: 'redis' | 'ioredis' | 'iovalkey';
}

type Client = Setup['client'];

const setup = (express: string, passport: string, client: Client, version: string): Setup => ({
  name: `Express ${express}, ${client} ${version}`,
  packages: { express, passport, [client]: version },
  client,
});

/** Clients of Redis. */
const CLIENTS = ['redis 4', 'redis 5', 'redis 6', 'ioredis 5', 'ioredis 6'].map(
  (each) => each.split(' ') as [Client, string],
);

/** Express 4 and 5, each with every Redis client. */
export const SETUPS: readonly Setup[] = CLIENTS.flatMap(([client, version]) => [
  setup('4', '0.6', client, version),
  setup('5', '0.7', client, version),
]);

/** Servers by the names of their programs, which can be paths in REDIS_SERVERS, and the clients that talk to each. */
export const SERVERS = (process.env.REDIS_SERVERS ?? 'redis-server valkey-server').split(' ');
export const SERVER_CLIENTS: readonly Setup[] = [
  ...SETUPS.filter(({ packages }) => packages.express === '5'),
  setup('5', '0.7', 'iovalkey', '*'),
];

/** The oldest of everything that package.json still allows, together. */
export const FLOORS = {
  node: '20.19.0',
  setups: [setup('4.18.0', '0.6.0', 'redis', '4.6.0'), setup('5.0.0', '0.7.0', 'ioredis', '5.0.0')],
};

const OTEL =
  'instrumentation-undici instrumentation-http instrumentation api sdk-trace-base sdk-trace-node'.replaceAll(
    /\S+/g,
    '@opentelemetry/$&',
  );

/** Compilers; the last is whatever npm calls the newest. */
export const TYPESCRIPTS = ['5.4', '5.6', '5.8', '5.9', '6', 'latest'] as const;

/** How a project finds modules, with the programs that make sense there. */
export const RESOLUTIONS = [
  { module: 'node16', resolution: 'node16', programs: ['esm-ts', 'cjs-ts'] },
  { module: 'nodenext', resolution: 'nodenext', programs: ['esm-ts', 'cjs-ts'] },
  { module: 'esnext', resolution: 'bundler', programs: ['esm-ts'] },
] as const;

/** A program that runs on each Node. */
export interface App {
  readonly name: string;
  /** A file of `programs/`, and its arguments. */
  readonly command: string;
  /** What it needs beside Express and passport. The first names the version of the row. */
  readonly packages: Packages;
  /** Why it cannot work, by version of Node. */
  readonly not: Readonly<Partial<Record<string, string>>>;
}

/** A line for each program: name, command, packages, and the versions of Node on which it cannot work. */
const apps = (text: string): App[] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([name = '', command = '', packages = '', not = '']) => {
      const [, versions = '', why = ''] = /^([\d ]+): (.*)$/.exec(not) ?? [];
      const reasons = versions.split(' ').map((version) => [version, why]);
      const all = packages === '' ? {} : packagesOf(packages);
      return { name, command, packages: all, not: Object.fromEntries(reasons) };
    });

/** Tables of programs, by the word that chooses them. `page.mjs` runs a server of the guide "Other frameworks". */
export const APPS: Readonly<Record<string, { readonly title: string; readonly apps: App[] }>> = {
  frameworks: {
    title: 'In a framework: guard, outage and login',
    apps: apps(`
Express                        | express.mjs                      | express@^5
Fastify, middie                | frameworks.mjs fastify-middie    | fastify @fastify/middie
Fastify, @fastify/express      | frameworks.mjs fastify-express   | fastify @fastify/express
Connect                        | frameworks.mjs connect           | connect
polka                          | frameworks.mjs polka             | polka
restify 11                     | frameworks.mjs restify           | restify@^11 | 24 26: restify itself does not load
restify 12                     | frameworks.mjs restify           | restify@^12
Koa, koa-connect               | frameworks.mjs koa               | koa koa-connect
Next's pages API               | next-pages.mjs                   | next react react-dom next-connect
NestJS 11                      | nest.mjs                         | ${nest('11')}
NestJS 12                      | nest.mjs                         | ${nest('12')}
Socket.IO, io.engine.use       | socket-io.mjs                    | socket.io socket.io-client
Hono, checkPurchase            | page.mjs hono.js                 | hono @hono/node-server
Next routes, checkPurchase     | page.mjs next                    | next react react-dom
tRPC, checkPurchase            | page.mjs trpc.js                 | @trpc/server
GraphQL Yoga, checkPurchase    | page.mjs yoga.js /graphql?query={download} | graphql-yoga graphql
Socket.IO, checkPurchase       | page.mjs socket-io.js            | socket.io socket.io-client`),
  },
  sessions: {
    title: 'With a session, for login attempts and the login',
    apps: apps(`
express-session                | sessions.mjs express             | express-session
iron-session                   | sessions.mjs iron                | iron-session
cookie-session, refused where passport keeps the login in it | sessions.mjs cookie | cookie-session`),
  },
  accounts: {
    title: 'Next to the accounts of another library, as its guide says',
    apps: apps(`
better-auth                    | accounts.mjs better-auth         | better-auth
Auth.js                        | accounts.mjs auth-js             | @auth/express @auth/core`),
  },
  tools: {
    title: 'With test tools, as the guide says, and proxies',
    apps: apps(`
msw 2, option fetch            | ../guide/msw.js                  | msw@^2
msw 3, option fetch            | ../guide/msw.js                  | msw@^3 | 20: it needs Node 22
nock 14, option fetch          | ../guide/nock.js                 | nock@^14
nock 15, option fetch          | ../guide/nock.js                 | nock@^15 | 20: it needs Node 22
HTTP_PROXY                     | proxy.mjs`),
  },
  recorders: {
    title: 'No secret in traces and logs, with the recipes of the guide',
    apps: apps(`
pino, pino-http                | observed-pino.mjs                | pino pino-http
morgan                         | observed-morgan.mjs              | morgan
Sentry 9                       | observed-sentry.mjs              | @sentry/node@^9
Sentry 10                      | observed-sentry.mjs              | @sentry/node@^10
Sentry 11                      | observed-sentry.mjs              | @sentry/node@^11
OpenTelemetry, undici and http | observed-otel.mjs                | ${OTEL}`),
  },
  dispatcher: {
    title: 'Through the fetch of undici, with a dispatcher, mocks among them',
    apps: apps(`
undici 6                       | dispatcher.mjs                   | undici@^6
undici 7                       | dispatcher.mjs                   | undici@^7
undici 8                       | dispatcher.mjs                   | undici@^8 | 20: it needs Node 22`),
  },
};

/** Packages of NestJS. */
function nest(version: string): string {
  const parts = ['core', 'common', 'platform-express', 'passport'];
  return `${parts.map((part) => `@nestjs/${part}@^${version}`).join(' ')} reflect-metadata rxjs`;
}

const ESBUILD =
  'esbuild programs/express.mjs --bundle --minify --platform=node --log-level=error --outdir=out';
const ESM = `--format=esm --splitting '--banner:js=import{createRequire}from"node:module";const require=createRequire(import.meta.url);'`;

/** Packages, what a shell does to write the folder `out`, and the file in it that Node runs. */
export const BUNDLES = [
  ['esbuild', `${ESBUILD} --out-extension:.js=.cjs`, 'express.cjs'],
  ['esbuild', `${ESBUILD} ${ESM} --out-extension:.js=.mjs`, 'express.mjs'],
  ['webpack webpack-cli', 'webpack --config webpack.config.cjs', 'app.cjs'],
  ['@vercel/ncc', 'ncc build programs/express.mjs --out out', 'index.mjs'],
].map(([packages = '', build = '', start = '']) => ({
  ...{ name: `${packages.replace(/ .*/, '')}, ${start}`, packages: packagesOf(packages) },
  ...{ build, start },
}));

export const RUNTIMES = [
  {
    name: 'bun',
    // npm runs no scripts here, and this one puts the program in its place.
    install: 'node_modules/bun/install.js',
    command: 'bun',
    page: 'bun.js',
  },
  { name: 'deno', install: undefined, command: 'deno run -A', page: 'deno.js' },
] as const;

/** A client of Redis, with the Node package that makes it, as `programs/failover.cjs` uses it. */
export interface Failover {
  readonly kind: Client;
  readonly version: string;
  readonly not?: Readonly<Partial<Record<'cluster' | 'sentinel', string>>>;
}

const NO_RECOVERY = 'its cluster client does not find the new master by itself: use version 6';

export const FAILOVERS: readonly Failover[] = [
  {
    ...{ kind: 'redis', version: '^4' },
    not: { cluster: NO_RECOVERY, sentinel: 'it has no createSentinel' },
  },
  { kind: 'redis', version: '^5', not: { cluster: NO_RECOVERY } },
  { kind: 'redis', version: '^6' },
  { kind: 'ioredis', version: '^5' },
  { kind: 'ioredis', version: '^6' },
  { kind: 'iovalkey', version: '*' },
];
