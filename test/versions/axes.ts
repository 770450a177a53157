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
  readonly not?: Readonly<Partial<Record<(typeof NODES)[number], string>>>;
}

const app = (name: string, command: string, packages = '', not?: App['not']): App => ({
  ...{ name, command, packages: packages === '' ? {} : packagesOf(packages) },
  ...(not && { not }),
});

/** A server of the guide "Other frameworks": its file, and the path if it is not `/download`. */
const page = (name: string, packages: string, args: string): App =>
  app(`${name}, \`checkPurchase\``, `page.mjs ${args}`, packages);

/** A tool of tests, as the guide says. */
const tool = (name: string, version: string, not?: App['not']): App =>
  app(`${name} ${version}, option \`fetch\``, `../guide/${name}.js`, `${name}@^${version}`, not);

const nest = (version: string): App => {
  const parts = ['core', 'common', 'platform-express', 'passport'];
  const packages = parts.map((part) => `@nestjs/${part}@^${version}`).join(' ');
  return app(`NestJS ${version}`, 'nest.mjs', `${packages} reflect-metadata rxjs`);
};

const NEEDS_22 = { '20': 'it needs Node 22' };
const NO_RESTIFY = 'restify itself does not load';
const OTEL =
  'instrumentation-undici instrumentation-http instrumentation api sdk-trace-base sdk-trace-node';

/** Tables of programs, by the word that chooses them. */
export const APPS: Readonly<Record<string, { readonly title: string; readonly apps: App[] }>> = {
  frameworks: {
    title: 'In a framework: guard, outage and login',
    apps: [
      app('Express', 'express.mjs', 'express@^5'),
      app('Fastify, middie', 'frameworks.mjs fastify-middie', 'fastify @fastify/middie'),
      app(
        'Fastify, @fastify/express',
        'frameworks.mjs fastify-express',
        'fastify @fastify/express',
      ),
      app(
        'Fastify, @fastify/passport',
        'frameworks.mjs fastify-passport',
        '@fastify/passport fastify @fastify/middie @fastify/cookie @fastify/session',
      ),
      app('Connect', 'frameworks.mjs connect', 'connect'),
      app('polka', 'frameworks.mjs polka', 'polka'),
      app('restify 11', 'frameworks.mjs restify', 'restify@^11', {
        '24': NO_RESTIFY,
        '26': NO_RESTIFY,
      }),
      app('restify 12', 'frameworks.mjs restify', 'restify@^12'),
      app('Koa, koa-connect', 'frameworks.mjs koa', 'koa koa-connect'),
      app(
        'Koa, koa-passport',
        'frameworks.mjs koa-passport',
        'koa-passport koa koa-connect koa-session',
      ),
      app("Next's pages API", 'next-pages.mjs', 'next react react-dom next-connect'),
      nest('11'),
      nest('12'),
      app('Socket.IO, `io.engine.use`', 'socket-io.mjs', 'socket.io socket.io-client'),
      page('Hono', 'hono @hono/node-server', 'hono.js'),
      page('Next route handlers', 'next react react-dom', 'next'),
      page('tRPC', '@trpc/server', 'trpc.js'),
      page('GraphQL Yoga', 'graphql-yoga graphql', 'yoga.js /graphql?query={download}'),
      page('Socket.IO', 'socket.io socket.io-client', 'socket-io.js'),
    ],
  },
  // Where login attempts and the login are in a session.
  sessions: {
    title: 'With a session',
    apps: [
      app('express-session', 'sessions.mjs express', 'express-session'),
      app('iron-session', 'sessions.mjs iron', 'iron-session'),
      app(
        'cookie-session, refused where passport keeps the login in it',
        'sessions.mjs cookie',
        'cookie-session',
      ),
    ],
  },
  tools: {
    title: 'With test tools and proxies',
    apps: [
      tool('msw', '2'),
      tool('msw', '3', NEEDS_22),
      tool('nock', '14'),
      tool('nock', '15', NEEDS_22),
      app('HTTP_PROXY, by Node', 'proxy.mjs'),
    ],
  },
  // What records requests, with the recipes of the guide that leave no secret in it.
  recorders: {
    title: 'No secret in traces and logs',
    apps: [
      app('pino-http', 'observed-pino.mjs', 'pino-http'),
      ...['9', '10', '11'].map((version) =>
        app(`Sentry ${version}`, 'observed-sentry.mjs', `@sentry/node@^${version}`),
      ),
      app(
        'OpenTelemetry, undici and http',
        'observed-otel.mjs',
        OTEL.replaceAll(/\S+/g, '@opentelemetry/$&'),
      ),
    ],
  },
  bare: {
    title: 'Without redis, ioredis and keyv',
    apps: [app('what needs none of them', 'bare.mjs')],
  },
  dispatcher: {
    title: 'Through undici: a dispatcher of 7, `fetch` of others, mocks among them',
    apps: [
      app('undici 6', 'dispatcher.mjs', 'undici@^6'),
      app('undici 7', 'dispatcher.mjs', 'undici@^7'),
      app('undici 8', 'dispatcher.mjs', 'undici@^8', NEEDS_22),
    ],
  },
};

export interface Bundle {
  readonly name: string;
  readonly packages: Packages;
  /** What a shell does to write `out`. */
  readonly build: string;
  /** The file of `out` that Node runs; without it, `out/app` is a program itself. */
  readonly start?: string;
}

const bundle = (name: string, packages: string, build: string, start?: string): Bundle => ({
  ...{ name, packages: packagesOf(packages), build },
  ...(start && { start }),
});

const ESBUILD = 'esbuild programs/express.mjs --bundle --platform=node --log-level=error';
const ESM = `${ESBUILD} --format=esm '--banner:js=import{createRequire}from"node:module";const require=createRequire(import.meta.url);'`;
const SPLIT = '--splitting --outdir=out --out-extension:.js=.mjs';
const PLUGINS = '@rollup/plugin-commonjs @rollup/plugin-json @rollup/plugin-node-resolve';

export const BUNDLES: readonly Bundle[] = [
  bundle('esbuild, CommonJS', 'esbuild', `${ESBUILD} --outfile=out/app.cjs`, 'app.cjs'),
  bundle('esbuild, minified', 'esbuild', `${ESBUILD} --minify --outfile=out/app.cjs`, 'app.cjs'),
  bundle('esbuild, ES module', 'esbuild', `${ESM} --outfile=out/app.mjs`, 'app.mjs'),
  bundle('esbuild, --splitting', 'esbuild', `${ESM} ${SPLIT}`, 'express.mjs'),
  bundle('rollup', `rollup ${PLUGINS}`, 'rollup --config rollup.config.mjs --silent', 'app.mjs'),
  bundle('webpack', 'webpack webpack-cli', 'webpack --config webpack.config.cjs', 'app.cjs'),
  bundle('ncc', '@vercel/ncc', 'ncc build programs/express.mjs --out out', 'index.mjs'),
  bundle(
    'a single executable (SEA)',
    'postject esbuild',
    [
      `${ESBUILD} --outfile=out/app.cjs`,
      '"$NODE" --experimental-sea-config sea.json',
      'cp "$NODE" out/app',
      'postject out/app NODE_SEA_BLOB app.blob --sentinel-fuse NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2',
    ].join('\n'),
  ),
];

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
