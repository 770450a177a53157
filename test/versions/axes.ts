/** Packages by their names, with ranges; a major stands for its newest release. */
export type Packages = Readonly<Record<string, string>>;

export const NODES = ['20', '22', '24', '26'] as const;

/** What an app has next to marketgate, and the Redis client that it uses. */
export interface Setup {
  readonly client: 'redis' | 'ioredis' | 'iovalkey';
  readonly packages: Packages;
}

const setup = (express: string, passport: string, client: Setup['client'], version: string) =>
  ({ client, packages: { express, passport, [client]: version } }) satisfies Setup;

/** Every Redis client with Express 5; and the newest ones with Express 4, which Redis does not depend on. */
export const EXPRESS_5: readonly Setup[] = [
  setup('5', '0.7', 'redis', '4'),
  setup('5', '0.7', 'redis', '5'),
  setup('5', '0.7', 'redis', '6'),
  setup('5', '0.7', 'ioredis', '5'),
  setup('5', '0.7', 'ioredis', '6'),
  setup('5', '0.7', 'iovalkey', '0'),
];
export const SETUPS: readonly Setup[] = [
  setup('4', '0.6', 'redis', '6'),
  setup('4', '0.6', 'ioredis', '6'),
  ...EXPRESS_5,
];

/** Programs by name or path. */
export const { REDIS_SERVER = 'redis-server', VALKEY_SERVER = 'valkey-server' } = process.env;

/** The oldest of everything that package.json allows, together. */
export const FLOOR_NODE = '20.19.0';
export const FLOORS: readonly Setup[] = [
  setup('4.18.0', '0.6.0', 'redis', '4.6.0'),
  setup('5.0.0', '0.7.0', 'ioredis', '5.0.0'),
];

/** Something that runs on each Node. The first of its packages names the version of its row. */
export interface App {
  readonly name: string;
  readonly packages: Packages;
}

/** As in `express@5 passport`; without a version the newest. */
const packagesOf = (names: string): Packages =>
  Object.fromEntries(
    names.split(' ').map((each) => {
      const [, name = '', version] = /^(@?[^@]+)@?(.*)$/.exec(each) ?? [];
      return [name, version || '*'];
    }),
  );

const program = (name: string, command: string, packages: string) =>
  ({ name, command, packages: packagesOf(packages) }) satisfies App & { command: string };

const nest = (version: string) =>
  `core common platform-express passport`.replace(/\S+/g, `@nestjs/$&@${version}`);
const OTEL = `instrumentation-undici instrumentation-http instrumentation api sdk-trace-base
sdk-trace-node`.replace(/\s*(\S+)\s*/g, '@opentelemetry/$1 ');

/** NestJS; and what the guides name, whose programs are in the folder `guide`. */
export const PROGRAMS: readonly (App & { readonly command: string })[] = [
  program('NestJS 11', 'programs/nest.mjs', `${nest('11')} reflect-metadata rxjs`),
  program('NestJS 12', 'programs/nest.mjs', `${nest('12')} reflect-metadata rxjs`),
  program('fetch: msw', 'guide/msw.js', 'msw@2'),
  program('fetch: nock', 'guide/nock.js', 'nock@14'),
  program('no secrets: pino', 'programs/recorded.mjs pino', 'pino pino-http'),
  program('no secrets: morgan', 'programs/recorded.mjs morgan', 'morgan'),
  program('no secrets: Sentry', 'programs/recorded.mjs sentry', '@sentry/node'),
  program('no secrets: OpenTelemetry', 'programs/recorded.mjs otel', OTEL.trim()),
];

const ESBUILD = 'esbuild programs/express.mjs --bundle --minify --platform=node --outdir=out';
const REQUIRE =
  'import{createRequire}from"node:module";const require=createRequire(import.meta.url);';
const ESM = `--format=esm --splitting '--banner:js=${REQUIRE}' --out-extension:.js=.mjs`;

const bundle = (name: string, packages: string, build: string, start: string) => ({
  ...{ name, packages: packagesOf(packages), build, start },
});

/** `build` is a shell command that writes the folder `out`; `start` is the file in it that Node runs, without any package. */
export const BUNDLES: readonly (App & { readonly build: string; readonly start: string })[] = [
  bundle('esbuild, cjs', 'esbuild', `${ESBUILD} --out-extension:.js=.cjs`, 'express.cjs'),
  bundle('esbuild, esm', 'esbuild', `${ESBUILD} ${ESM}`, 'express.mjs'),
  bundle('webpack', 'webpack webpack-cli', 'webpack -c programs/webpack.config.cjs', 'app.cjs'),
  bundle('ncc', '@vercel/ncc', 'ncc build programs/express.mjs --out out', 'index.mjs'),
];

/** Compilers: the oldest, the last of each major, and whatever npm calls the newest. */
export const TYPESCRIPTS = ['5.4', '5.9', '6', 'latest'] as const;

/** How a project finds modules, and the folders of `test/package/consumers` that make sense there. */
export const RESOLUTIONS = [
  { module: 'node16', resolution: 'node16', folders: ['esm-ts', 'cjs-ts'] },
  { module: 'nodenext', resolution: 'nodenext', folders: ['esm-ts', 'cjs-ts'] },
  { module: 'esnext', resolution: 'bundler', folders: ['esm-ts'] },
  { module: 'commonjs', resolution: 'node10', folders: ['cjs-ts'] },
] as const;
