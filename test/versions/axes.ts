/** What is tried with what. A major stands for its newest release; the floors are the oldest we allow. */
export const NODES = ['20', '22', '24', '26'] as const;

/** One set of packages that a user may have beside marketgate. */
export interface Setup {
  readonly name: string;
  readonly packages: Readonly<Record<string, string>>;
  readonly client: 'redis' | 'ioredis' | 'iovalkey';
}

type Client = Setup['client'];

const setup = (express: string, passport: string, client: Client, version: string): Setup => ({
  name: `Express ${express}, ${client} ${version}`,
  packages: { express, passport, [client]: version },
  client,
});

const CLIENTS = { redis: ['4', '5', '6'], ioredis: ['5', '6'] };

/** Express 4 and 5, each with every Redis client. */
export const SETUPS: readonly Setup[] = Object.entries(CLIENTS).flatMap(([client, versions]) =>
  versions.flatMap((version) => [
    setup('4', '0.6', client as Client, version),
    setup('5', '0.7', client as Client, version),
  ]),
);

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

/** The versions of undici: a dispatcher of 7 is taken, and of the others their `fetch`. With the oldest Node that each runs on. */
export const UNDICIS = [
  { version: '6', node: 20 },
  { version: '7', node: 20 },
  { version: '8', node: 22 },
] as const;

/** Compilers; the last is whatever npm calls the newest. */
export const TYPESCRIPTS = ['5.4', '5.6', '5.8', '5.9', '6', 'latest'] as const;

/** How a project finds modules, with the programs that make sense there. */
export const RESOLUTIONS = [
  { module: 'node16', resolution: 'node16', programs: ['esm-ts', 'cjs-ts'] },
  { module: 'nodenext', resolution: 'nodenext', programs: ['esm-ts', 'cjs-ts'] },
  { module: 'esnext', resolution: 'bundler', programs: ['esm-ts'] },
] as const;

/** Express with its types, as each project for the compilers has them. */
export const TYPED_EXPRESS = {
  '4': { express: '^4', '@types/express': '^4' },
  '5': { express: '^5', '@types/express': '^5' },
} as const;

export interface App {
  readonly name: string;
  readonly program: string;
  readonly args?: readonly string[];
  /** What it needs beside Express and passport. The first names the version of the row. */
  readonly packages: Readonly<Record<string, string>>;
  /** Why it cannot work, by version of Node. */
  readonly not?: Readonly<Partial<Record<(typeof NODES)[number], string>>>;
}

/** Packages by their names; without a range the newest, which npm takes for whatever Node it runs on. */
function packagesOf(names: string): Record<string, string> {
  return Object.fromEntries(
    names.split(' ').map((each) => {
      const [, name = '', range] = /^(@?[^@]+)@?(.*)$/.exec(each) ?? [];
      return [name, range || '*'];
    }),
  );
}

const app = (name: string, program: string, packages: string, not?: App['not']): App => ({
  ...{ name, program, packages: packagesOf(packages) },
  ...(not && { not }),
});

/** A server of the guide "Other frameworks": its file, and the path if it is not `/download`. */
const page = (name: string, packages: string, ...args: string[]): App => ({
  ...app(`${name}, \`checkPurchase\``, 'page.mjs', packages),
  args,
});

const NEST = ['core', 'common', 'platform-express', 'passport'];

export const FRAMEWORKS: readonly App[] = [
  app('Express', 'express.mjs', 'express@^5'),
  app('Fastify, middie', 'fastify-middie.mjs', 'fastify @fastify/middie'),
  app('Fastify, @fastify/express', 'fastify-express.mjs', 'fastify @fastify/express'),
  app(
    'Fastify, @fastify/passport',
    'fastify-passport.mjs',
    '@fastify/passport fastify @fastify/middie @fastify/cookie @fastify/session',
  ),
  app('Connect', 'connect.mjs', 'connect'),
  app('polka', 'polka.mjs', 'polka'),
  app('restify 11', 'restify.mjs', 'restify@^11', {
    ...{ '24': 'restify itself does not load', '26': 'restify itself does not load' },
  }),
  app('restify 12', 'restify.mjs', 'restify@^12'),
  app('Koa, koa-connect', 'koa-connect.mjs', 'koa koa-connect'),
  app('Koa, koa-passport', 'koa-passport.mjs', 'koa-passport koa koa-connect koa-session'),
  app('next-connect', 'next-connect.mjs', 'next-connect'),
  app("Next's pages API", 'next-pages.mjs', 'next react react-dom next-connect'),
  ...['11', '12'].map((version) => {
    const nest = NEST.map((part) => `@nestjs/${part}@^${version}`).join(' ');
    return app(`NestJS ${version}`, 'nest.mjs', `${nest} reflect-metadata rxjs`);
  }),
  app('Socket.IO, `io.engine.use`', 'socket-io.mjs', 'socket.io socket.io-client'),
  page('Hono', 'hono @hono/node-server', 'hono.js'),
  page('Next route handlers', 'next react react-dom', 'next'),
  page('tRPC', '@trpc/server', 'trpc.js'),
  page('GraphQL Yoga', 'graphql-yoga graphql', 'yoga.js', '/graphql?query={download}'),
  page('Socket.IO', 'socket.io socket.io-client', 'socket-io.js'),
];

/** Where login attempts and the login are in a session. */
export const SESSIONS: readonly App[] = [
  app('express-session', 'session-express.mjs', 'express-session'),
  app('iron-session', 'session-iron.mjs', 'iron-session'),
  app(
    'cookie-session, refused where passport keeps the login in it',
    'session-cookie.mjs',
    'cookie-session',
  ),
];

/** A tool of tests, as the guide says. */
const tool = (name: string, version: string, not?: App['not']): App =>
  app(`${name} ${version}, option \`fetch\``, `../guide/${name}.js`, `${name}@^${version}`, not);

export const TOOLS: readonly App[] = [
  tool('msw', '2'),
  tool('msw', '3', { '20': 'msw 3 needs Node 22' }),
  tool('nock', '14'),
  tool('nock', '15', { '20': 'nock 15 needs Node 22' }),
  app('HTTP_PROXY, by Node and by undici', 'proxy.mjs', 'undici@^7'),
];

const OTEL = [
  ...['instrumentation-undici', 'instrumentation-http', 'instrumentation', 'api'],
  ...['sdk-trace-base', 'sdk-trace-node'],
];

/** What records requests, with the recipes of the guide that leave no secret in it. */
export const RECORDERS: readonly App[] = [
  app('pino-http', 'observed-pino.mjs', 'pino-http'),
  ...['9', '10', '11'].map((version) =>
    app(`Sentry ${version}`, 'observed-sentry.mjs', `@sentry/node@^${version}`),
  ),
  app(
    'OpenTelemetry, undici and http',
    'observed-otel.mjs',
    OTEL.map((part) => `@opentelemetry/${part}`).join(' '),
  ),
];

export interface Bundle {
  readonly name: string;
  readonly packages: App['packages'];
  /** What a shell does to write `out`. */
  readonly build: string;
  /** The file of `out` that Node runs; without it, `out/app` is a program itself. */
  readonly start?: string;
}

const bundle = (name: string, packages: string, build: string, start?: string): Bundle => ({
  ...{ name, packages: packagesOf(packages), build },
  ...(start && { start }),
});

const ESBUILD = 'esbuild apps/express.mjs --bundle --platform=node --log-level=error';
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
  bundle('ncc', '@vercel/ncc', 'ncc build apps/express.mjs --out out', 'index.mjs'),
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
    packages: packagesOf('bun'),
    // npm runs no scripts here, and this one puts the program in its place.
    install: 'node_modules/bun/install.js',
    command: ['bun'],
    page: 'bun.js',
  },
  {
    packages: packagesOf('deno'),
    install: undefined,
    command: ['deno', 'run', '-A'],
    page: 'deno.js',
  },
] as const;

/** A client of Redis, with the Node package that makes it, as `programs/failover.cjs` uses it. */
export interface Failover {
  readonly kind: 'redis' | 'ioredis' | 'iovalkey';
  readonly version: string;
  readonly not?: Readonly<Partial<Record<'cluster' | 'sentinel', string>>>;
}

const NO_RECOVERY = 'its cluster client does not find the new master by itself: use version 6';

export const FAILOVERS: readonly Failover[] = [
  ...[
    { version: '^4', not: { cluster: NO_RECOVERY, sentinel: 'it has no createSentinel' } },
    { version: '^5', not: { cluster: NO_RECOVERY } },
    { version: '^6' },
  ].map((each) => ({ kind: 'redis' as const, ...each })),
  { kind: 'ioredis', version: '^5' },
  { kind: 'ioredis', version: '^6' },
  { kind: 'iovalkey', version: '*' },
];
