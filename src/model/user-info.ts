import { z } from 'zod';
import { flagText, parseTimestamp } from './fields.js';

/**
 * Who logged in (specification: interface B, "User info"). All fields are strings, names as on the
 * wire. Deployments send any but the first three as `null`; these are absent.
 */
export interface UserInfo {
  /** The one to key your own accounts by. */
  user_id: string;
  /** Unique in the marketplace, but can be changed. */
  user_name: string;
  /** Not verified by the service: never merge accounts by it. */
  user_email: string;
  /** As the user wrote it. */
  user_firstname?: string;
  /** As the user wrote it. */
  user_lastname?: string;
  /** The list of values is open. */
  user_gender?: string;
  /** YYYY-MM-DD; empty when the user gave none. */
  user_birthdate?: string;
  /** URL; a relative path on some deployments. */
  user_picture?: string;
  /** URL; a relative path on some deployments. */
  user_cover?: string;
  /** YYYY-MM-DD; with a time behind it on some deployments. */
  user_registered?: string;
  /** "1" means verified. */
  user_verified?: string;
  /** The list of values is open. */
  user_relationship?: string;
  /** Text that the user wrote. */
  user_biography?: string;
  /** URL. */
  user_website?: string;
}

const text = z.string().optional();
/** Empty where the user gave none. */
const date = z
  .string()
  .refine((value) => value === '' || parseTimestamp(value) !== undefined, 'expected a date')
  .optional();

/** Only the `user_id` must be there: a login rests on nothing else. */
export const userInfoSchema = z.looseObject({
  user_id: z.string().min(1),
  user_name: text,
  user_email: text,
  user_firstname: text,
  user_lastname: text,
  user_gender: text,
  user_birthdate: date,
  user_picture: text,
  user_cover: text,
  user_registered: date,
  user_verified: flagText.optional(),
  user_relationship: text,
  user_biography: text,
  user_website: text,
});
