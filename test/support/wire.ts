/** Bodies as interface A and B send them, whole as documented. */

export const CODE = '4f0c1d9e-7a35-4b62-9c1f-0d8e5a7b3c21';
/** A wrong code, another for each number. */
export const guess = (i: number): string =>
  `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
export const KEY = 'a1'.repeat(32);

export const account = {
  name: { firstname: 'Ada', lastname: 'North', full_name: 'Ada North' },
  ...{ username: 'adanorth', email: 'ada@example.test', balance: 120.5, currency: 'USD' },
  profile: {
    heading: 'Makes themes',
    description: 'Since 2011.',
    contact: { email: 'hello@example.test' },
    social_links: { facebook: 'https://example.test/fb', x: 'https://example.test/x' },
    media: { avatar: 'https://example.test/a.png', cover: 'https://example.test/c.png' },
  },
  registered_at: '2020-02-18T07:42:08Z',
};

export const item = {
  id: 1042,
  ...{ name: 'Quiet Harbour', description: 'A calm theme.', version: '1.4.2' },
  ...{ category: 'Themes', sub_category: 'Blog', options: ['Responsive', 'Dark'] },
  demo_link: 'https://example.test/demo',
  tags: ['calm', 'blog'],
  media: {
    thumbnail: 'https://example.test/t.png',
    preview_image: 'https://example.test/p.png',
    screenshots: ['https://example.test/1.png', 'https://example.test/2.png'],
  },
  price: { regular: 29, extended: 149.5 },
  currency: 'USD',
  published_at: '2024-05-01T10:00:00Z',
};

export const purchase = {
  purchase_code: CODE,
  ...{ license_type: 'Regular', price: 29, currency: 'USD', item },
  supported_until: '2030-01-01T00:00:00Z',
  downloaded: true,
  date: '2025-11-21T09:00:00Z',
};

export const userInfo = {
  ...{ user_id: '77', user_name: 'mira', user_email: 'mira@example.test' },
  ...{ user_firstname: 'Mira', user_lastname: 'Okafor', user_gender: 'female' },
  ...{ user_birthdate: '1990-04-12', user_registered: '2021-03-01', user_verified: '1' },
  user_picture: 'https://example.test/mira.png',
  user_cover: 'https://example.test/cover.png',
  ...{ user_relationship: 'single', user_biography: 'Likes harbours.' },
  user_website: 'https://example.test/mira',
};

export const success = (payload: object): object => ({ status: 'success', ...payload });
export const refusal = (msg: string): object => ({ status: 'error', msg });
