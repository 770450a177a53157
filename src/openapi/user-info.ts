import { type UserInfo, userInfoSchema } from '../model/user-info.js';
import { documented } from './documented.js';

const DAY = 'YYYY-MM-DD';

/** No field has a format: what a user left blank is an empty string. */
export const userInfoDocumentation = documented<UserInfo>(
  userInfoSchema,
  'The user who logged in. All fields are strings; what the user left blank can be empty.',
  {
    user_id: { description: 'The one to key accounts by.', examples: ['3001'] },
    user_name: { description: 'The user name.', examples: ['mira.solheim'] },
    user_email: {
      description: 'An e-mail address. Nothing says that it is verified.',
      examples: ['mira@solheim.example'],
    },
    user_firstname: { description: 'First name.', examples: ['Mira'], optional: true },
    user_lastname: { description: 'Last name.', examples: ['Solheim'], optional: true },
    user_gender: { description: 'Its allowed values are not shown.', optional: true },
    user_birthdate: { description: DAY, examples: ['1991-03-14'], optional: true },
    user_picture: { description: 'URL of a picture.', optional: true },
    user_cover: { description: 'URL of a cover picture.', optional: true },
    user_registered: { description: DAY, examples: ['2019-04-02'], optional: true },
    user_verified: { description: '"1" means verified.', examples: ['1'], optional: true },
    user_relationship: { description: 'Its allowed values are not shown.', optional: true },
    user_biography: { description: 'A text about the user.', optional: true },
    user_website: { description: 'URL of a website.', optional: true },
  },
);
