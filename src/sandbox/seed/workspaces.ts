import type { SeedWorkspace } from './types.js';

/** Two workspaces, so that "what belongs to the account of the key" can be told apart. */
export const workspaces = (): SeedWorkspace[] => [
  {
    id: 'northlight',
    api_key: '7d1f0c9ab4e85236f09d7c1be24a6853a1c7f4e09b52d86e3f10a95c7b2e4d68',
    name: { firstname: 'Ingrid', lastname: 'Halvorsen', full_name: 'Ingrid Halvorsen' },
    username: 'northlight',
    email: 'ingrid@northlight.example',
    balance: 4318.75,
    currency: 'USD',
    profile: {
      heading: 'Northlight Studio',
      description: 'Pictures, textures and footage made under a low sun.',
      contact: { email: 'hello@northlight.example' },
      social_links: {
        facebook: 'https://www.facebook.com/northlight.example',
        x: 'https://x.com/northlight_example',
        behance: 'https://www.behance.net/northlight-example',
      },
    },
    registered_at: '2016-08-19T09:24:51Z',
  },
  {
    id: 'tidewater',
    api_key: 'c25a8e17f3604bd9918e5d02a7f6c34b60d9e1872fab45c3705e18d9b4a26fc1',
    name: { firstname: 'Marcus', lastname: 'Bell', full_name: 'Marcus Bell' },
    username: 'tidewater',
    email: 'marcus@tidewater.example',
    balance: 912,
    currency: 'EUR',
    profile: {
      heading: 'Tidewater Audio',
      description: 'Field recordings and small songs from the estuary.',
      contact: { email: 'studio@tidewater.example' },
      social_links: { soundcloud: 'https://soundcloud.com/tidewater-example' },
    },
    registered_at: '2020-02-18T07:42:08Z',
  },
];
