import { about, dateOrEmpty, flag, optional, record, text, textId, urlOrEmpty } from './fields.js';

/**
 * The user who logged in (specification: "User info"). All fields are strings, with names as on the wire. Only
 * `user_id` is certain: any other field is absent, whatever its type says, when the service leaves it out, or
 * sends `null` or what cannot be read. What the user left blank can be an empty string.
 */
export interface UserInfo {
  /** The id of the user. Key your own accounts by it. */
  user_id: string;
  /** The user name: unique in the marketplace, but it can change. */
  user_name: string;
  /** The e-mail address. The service does not verify it: never merge accounts by it. */
  user_email: string;
  /** First name. */
  user_firstname?: string;
  /** Last name. */
  user_lastname?: string;
  /** Its allowed values are not shown. */
  user_gender?: string;
  /** YYYY-MM-DD; empty when the user gave none. */
  user_birthdate?: string;
  /** URL of a picture; a relative path on some deployments. */
  user_picture?: string;
  /** URL of a cover picture; a relative path on some deployments. */
  user_cover?: string;
  /** YYYY-MM-DD; with a time after it on some deployments. */
  user_registered?: string;
  /** "1" means verified. */
  user_verified?: string;
  /** Its allowed values are not shown. */
  user_relationship?: string;
  /** A text by the user. */
  user_biography?: string;
  /** URL of a website. */
  user_website?: string;
}

/** Only `user_id` is essential, because a login needs no more. */
export const userInfoSchema = record<UserInfo>({
  user_id: about(textId, { examples: ['3001'] }),
  user_name: about(text, { examples: ['mira.solheim'] }),
  user_email: about(text, {
    examples: ['mira@solheim.example'],
    description: 'Not verified by the service.',
  }),
  user_firstname: optional(about(text, { examples: ['Mira'] })),
  user_lastname: optional(about(text, { examples: ['Solheim'] })),
  user_gender: optional(about(text, { description: 'Its allowed values are not shown.' })),
  user_birthdate: optional(about(dateOrEmpty, { examples: ['1991-03-14'] })),
  user_picture: optional(urlOrEmpty),
  user_cover: optional(urlOrEmpty),
  user_registered: optional(about(dateOrEmpty, { examples: ['2019-04-02'] })),
  user_verified: optional(about(flag, { examples: ['1'], description: '"1" means verified.' })),
  user_relationship: optional(about(text, { description: 'Its allowed values are not shown.' })),
  user_biography: optional(text),
  user_website: optional(urlOrEmpty),
});
