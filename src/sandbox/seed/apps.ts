import type { SeedApp } from './types.js';

/** Two apps, so that an auth_key of one can be tried with the other. Neither has a redirect URL yet. */
export const apps = (): SeedApp[] => [
  {
    app_id: '18230471',
    app_secret: 'e4b8d61f9a3c0572be81f46d23907ca5',
    name: 'Atelier Desk',
  },
  {
    app_id: '55409216',
    app_secret: '0f6a92c7d85b41e3a7c9306d1be852f4',
    name: 'Tide Table',
  },
];
