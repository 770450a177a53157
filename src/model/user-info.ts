import * as f from './fields.js';

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
export const userInfoRecord = f.record<UserInfo>({
  user_id: f.textId,
  user_name: f.text,
  user_email: f.text,
  user_firstname: f.text,
  user_lastname: f.text,
  user_gender: f.text,
  user_birthdate: f.dateOrEmpty,
  user_picture: f.text,
  user_cover: f.text,
  user_registered: f.dateOrEmpty,
  user_verified: f.flag,
  user_relationship: f.text,
  user_biography: f.text,
  user_website: f.text,
});
