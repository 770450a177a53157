import { type Account, type AccountProfile, accountSchema } from '../model/account.js';
import { documented, partOf } from './documented.js';

const profileReader = partOf(accountSchema, 'profile');

const name = documented<Account['name']>(partOf(accountSchema, 'name'), 'The owner’s name.', {
  firstname: { description: 'First name.', examples: ['Ida'] },
  lastname: { description: 'Last name.', examples: ['Northlight'] },
  full_name: { description: 'Both together.', examples: ['Ida Northlight'] },
});

const contact = documented<AccountProfile['contact']>(
  partOf(profileReader, 'contact'),
  'How to reach the account.',
  {
    email: { description: 'An e-mail address.', examples: ['hello@shop.example'], optional: true },
  },
);

const media = documented<AccountProfile['media']>(
  partOf(profileReader, 'media'),
  'Pictures of the account.',
  {
    avatar: { description: 'The avatar.', format: 'uri' },
    cover: { description: 'The cover.', format: 'uri' },
  },
);

const profile = documented<AccountProfile>(profileReader, 'How the account presents itself.', {
  heading: { description: 'A heading.', optional: true },
  description: { description: 'A description.', optional: true },
  contact: { description: 'How to reach the account.', schema: contact },
  social_links: {
    description: 'From the name of a network to a link. The list of networks is open.',
    examples: [{ facebook: 'https://facebook.example/shop', x: 'https://x.example/shop' }],
    optional: true,
  },
  media: { description: 'Pictures of the account.', schema: media },
});

export const accountDocumentation = documented<Account>(
  accountSchema,
  'The account that an api_key belongs to.',
  {
    name: { description: 'The owner’s name.', schema: name },
    username: { description: 'The user name.', examples: ['northlight'] },
    email: { description: 'The owner’s e-mail address.', examples: ['ida@shop.example'] },
    balance: { description: 'The balance, in units of `currency`.', examples: [1289.5] },
    currency: { description: 'A currency code.', examples: ['USD'] },
    profile: { description: 'How the account presents itself.', schema: profile },
    registered_at: {
      description: 'When the account was made: ISO 8601, UTC.',
      format: 'date-time',
      examples: ['2016-05-11T08:00:00Z'],
    },
  },
);
