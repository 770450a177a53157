/** What is tried with what. A major stands for its newest release; the floors are the oldest we allow. */
export const NODES = ['20', '22', '24', '26'] as const;

/** One set of packages that a user may have beside marketgate. */
export interface Setup {
  readonly name: string;
  /** Versions for npm, by package. */
  readonly packages: Readonly<Record<string, string>>;
  /** Which Redis client is in it. */
  readonly client: 'redis' | 'ioredis';
}

const EXPRESS = {
  '4': { express: '^4', passport: '^0.6' },
  '5': { express: '^5', passport: '^0.7' },
};

const CLIENTS = [
  { client: 'redis', version: '4' },
  { client: 'redis', version: '5' },
  { client: 'redis', version: '6' },
  { client: 'ioredis', version: '5' },
  { client: 'ioredis', version: '6' },
] as const;

/** Express 4 and 5, each with every Redis client. */
export const SETUPS: readonly Setup[] = Object.entries(EXPRESS).flatMap(([express, base]) =>
  CLIENTS.map(({ client, version }) => ({
    name: `Express ${express}, ${client} ${version}`,
    packages: { ...base, [client]: `^${version}` },
    client,
  })),
);

/** The oldest of everything that package.json still allows, together. */
export const FLOORS: { readonly node: string; readonly setups: readonly Setup[] } = {
  node: '20.19.0',
  setups: [
    {
      name: 'Express 4.18.0, redis 4.6.0',
      packages: { express: '4.18.0', passport: '0.6.0', redis: '4.6.0' },
      client: 'redis',
    },
    {
      name: 'Express 5.0.0, ioredis 5.0.0',
      packages: { express: '5.0.0', passport: '0.7.0', ioredis: '5.0.0' },
      client: 'ioredis',
    },
  ],
};

/** The versions of undici whose dispatchers are taken, with the oldest Node that each runs on. */
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

/** A program of `apps/`. */
export interface App {
  readonly name: string;
  readonly program: string;
  readonly args?: readonly string[];
  /** What it needs beside Express and passport. The first names the version of the row. */
  readonly packages: Readonly<Record<string, string>>;
  /** Why it cannot work, by version of Node. */
  readonly not?: Readonly<Partial<Record<(typeof NODES)[number], string>>>;
}

/** The newest of each: npm takes it for whatever Node it runs on. */
const ANY = '*';

/** The servers of the guide "Other frameworks": the file, and the path if it is not `/download`. */
const CHECKS: readonly Omit<App, 'program'>[] = [
  {
    name: 'Hono, `checkPurchase`',
    args: ['hono.js'],
    packages: { hono: ANY, '@hono/node-server': ANY },
  },
  {
    name: 'Next route handlers, `checkPurchase`',
    args: ['next'],
    packages: { next: ANY, react: ANY, 'react-dom': ANY },
  },
  { name: 'tRPC, `checkPurchase`', args: ['trpc.js'], packages: { '@trpc/server': ANY } },
  {
    name: 'GraphQL Yoga, `checkPurchase`',
    args: ['yoga.js', '/graphql?query={download}'],
    packages: { 'graphql-yoga': ANY, graphql: ANY },
  },
  {
    name: 'Socket.IO, `checkPurchase`',
    args: ['socket-io.js'],
    packages: { 'socket.io': ANY, 'socket.io-client': ANY },
  },
];

export const FRAMEWORKS: readonly App[] = [
  { name: 'Express', program: 'express.mjs', packages: { express: '^5' } },
  {
    name: 'Fastify, middie',
    program: 'fastify-middie.mjs',
    packages: { fastify: ANY, '@fastify/middie': ANY },
  },
  {
    name: 'Fastify, @fastify/express',
    program: 'fastify-express.mjs',
    packages: { fastify: ANY, '@fastify/express': ANY },
  },
  {
    name: 'Fastify, @fastify/passport',
    program: 'fastify-passport.mjs',
    packages: {
      ...{ '@fastify/passport': ANY, fastify: ANY, '@fastify/middie': ANY },
      ...{ '@fastify/cookie': ANY, '@fastify/session': ANY },
    },
  },
  { name: 'Connect', program: 'connect.mjs', packages: { connect: ANY } },
  { name: 'polka', program: 'polka.mjs', packages: { polka: ANY } },
  {
    name: 'restify 11',
    program: 'restify.mjs',
    packages: { restify: '^11' },
    not: { '24': 'restify itself does not load', '26': 'restify itself does not load' },
  },
  { name: 'restify 12', program: 'restify.mjs', packages: { restify: '^12' } },
  {
    name: 'Koa, koa-connect',
    program: 'koa-connect.mjs',
    packages: { koa: ANY, 'koa-connect': ANY },
  },
  {
    name: 'Koa, koa-passport',
    program: 'koa-passport.mjs',
    packages: { 'koa-passport': ANY, koa: ANY, 'koa-connect': ANY, 'koa-session': ANY },
  },
  { name: 'next-connect', program: 'next-connect.mjs', packages: { 'next-connect': ANY } },
  {
    name: "Next's pages API",
    program: 'next-pages.mjs',
    packages: { next: ANY, react: ANY, 'react-dom': ANY, 'next-connect': ANY },
  },
  ...['11', '12'].map((version) => ({
    name: `NestJS ${version}`,
    program: 'nest.mjs',
    packages: {
      ...{ '@nestjs/core': `^${version}`, '@nestjs/common': `^${version}` },
      ...{ '@nestjs/platform-express': `^${version}`, '@nestjs/passport': `^${version}` },
      ...{ 'reflect-metadata': ANY, rxjs: ANY },
    },
  })),
  {
    name: 'Socket.IO, `io.engine.use`',
    program: 'socket-io.mjs',
    packages: { 'socket.io': ANY, 'socket.io-client': ANY },
  },
  ...CHECKS.map((check) => ({ ...check, program: 'page.mjs' })),
];

/** Where login attempts and the login are in a session. */
export const SESSIONS: readonly App[] = [
  {
    name: 'express-session',
    program: 'session-express.mjs',
    packages: { 'express-session': ANY },
  },
  { name: 'iron-session', program: 'session-iron.mjs', packages: { 'iron-session': ANY } },
  {
    name: 'cookie-session, refused where passport keeps the login in it',
    program: 'session-cookie.mjs',
    packages: { 'cookie-session': ANY },
  },
];

/** What tests are written with, as the guide says. */
export const TOOLS: readonly App[] = [
  ...['2', '3'].map((version) => ({
    name: `msw ${version}, option \`fetch\``,
    program: '../guide/msw.js',
    packages: { msw: `^${version}` },
    ...(version === '3' && { not: { '20': 'msw 3 needs Node 22' } }),
  })),
  ...['14', '15'].map((version) => ({
    name: `nock ${version}, option \`fetch\``,
    program: '../guide/nock.js',
    packages: { nock: `^${version}` },
    ...(version === '15' && { not: { '20': 'nock 15 needs Node 22' } }),
  })),
  {
    name: 'HTTP_PROXY, by Node and by undici',
    program: 'proxy.mjs',
    packages: { undici: '^7' },
  },
];

/** What records requests, with the recipes of the guide that leave no secret in it. */
export const RECORDERS: readonly App[] = [
  { name: 'pino-http', program: 'observed-pino.mjs', packages: { 'pino-http': ANY } },
  ...['9', '10', '11'].map((version) => ({
    name: `Sentry ${version}`,
    program: 'observed-sentry.mjs',
    packages: { '@sentry/node': `^${version}` },
  })),
  {
    name: 'OpenTelemetry, undici and http',
    program: 'observed-otel.mjs',
    packages: {
      ...{ '@opentelemetry/instrumentation-undici': ANY },
      ...{ '@opentelemetry/instrumentation-http': ANY, '@opentelemetry/instrumentation': ANY },
      ...{ '@opentelemetry/api': ANY, '@opentelemetry/sdk-trace-base': ANY },
      ...{ '@opentelemetry/sdk-trace-node': ANY },
    },
  },
];

/** A bundler. */
export interface Bundle {
  readonly name: string;
  readonly packages: App['packages'];
  /** What a shell does to write `out`. */
  readonly build: string;
  /** The file of `out` that Node runs; without it, `out/app` is a program itself. */
  readonly start?: string;
}

const ESBUILD = 'esbuild apps/express.mjs --bundle --platform=node --log-level=error';
const REQUIRE =
  '--banner:js=\'import{createRequire}from"node:module";const require=createRequire(import.meta.url);\'';

export const BUNDLES: readonly Bundle[] = [
  {
    name: 'esbuild, CommonJS',
    packages: { esbuild: ANY },
    build: `${ESBUILD} --outfile=out/app.cjs`,
    start: 'app.cjs',
  },
  {
    name: 'esbuild, minified',
    packages: { esbuild: ANY },
    build: `${ESBUILD} --minify --outfile=out/app.cjs`,
    start: 'app.cjs',
  },
  {
    name: 'esbuild, ES module',
    packages: { esbuild: ANY },
    build: `${ESBUILD} --format=esm ${REQUIRE} --outfile=out/app.mjs`,
    start: 'app.mjs',
  },
  {
    name: 'esbuild, --splitting',
    packages: { esbuild: ANY },
    build: `${ESBUILD} --format=esm --splitting ${REQUIRE} --outdir=out --out-extension:.js=.mjs`,
    start: 'express.mjs',
  },
  {
    name: 'rollup',
    packages: {
      ...{ rollup: ANY, '@rollup/plugin-commonjs': ANY },
      ...{ '@rollup/plugin-json': ANY, '@rollup/plugin-node-resolve': ANY },
    },
    build: 'rollup --config rollup.config.mjs --silent',
    start: 'app.mjs',
  },
  {
    name: 'webpack',
    packages: { webpack: ANY, 'webpack-cli': ANY },
    build: 'webpack --config webpack.config.cjs',
    start: 'app.cjs',
  },
  {
    name: 'ncc',
    packages: { '@vercel/ncc': ANY },
    build: 'ncc build apps/express.mjs --out out',
    start: 'index.mjs',
  },
  {
    name: 'a single executable (SEA)',
    packages: { postject: ANY, esbuild: ANY },
    build: [
      `${ESBUILD} --outfile=out/app.cjs`,
      '"$NODE" --experimental-sea-config sea.json',
      'cp "$NODE" out/app',
      'postject out/app NODE_SEA_BLOB app.blob --sentinel-fuse NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2',
    ].join('\n'),
  },
];

export const RUNTIMES = [
  {
    packages: { bun: ANY },
    // npm runs no scripts here, and this one puts the program in its place.
    install: 'node_modules/bun/install.js',
    command: ['bun'],
    page: 'bun.js',
  },
  {
    packages: { deno: ANY },
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
  {
    kind: 'redis',
    version: '^4',
    not: { cluster: NO_RECOVERY, sentinel: 'it has no createSentinel' },
  },
  { kind: 'redis', version: '^5', not: { cluster: NO_RECOVERY } },
  { kind: 'redis', version: '^6' },
  { kind: 'ioredis', version: '^5' },
  { kind: 'ioredis', version: '^6' },
  { kind: 'iovalkey', version: ANY },
];
