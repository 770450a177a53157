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
