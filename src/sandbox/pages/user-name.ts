import type { SeedUser } from '../seed/types.js';

/** A user's name as people write it, or the user name where no other was given. */
export function displayName(user: Readonly<SeedUser>): string {
  const full = [user.user_firstname, user.user_lastname].filter(Boolean).join(' ');
  return full || user.user_name;
}
