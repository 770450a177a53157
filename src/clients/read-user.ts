import type { DriftReports } from '../diagnostics.js';
import { type UserInfo, userInfoSchema } from '../model/user-info.js';
import { readShape, type Shaped } from '../shape/read-shape.js';

/** What reads a user out of an answer, where it stands at `user_info`. */
export type ReadUser = typeof readUser;

/**
 * Reads a user. In a file of its own that is loaded with the first call, for it brings zod along: that
 * is most of what importing the package would cost.
 */
export function readUser(value: unknown, endpoint: string, drift: DriftReports): Shaped<UserInfo> {
  return readShape(userInfoSchema, value, endpoint, 'user_info', drift) as Shaped<UserInfo>;
}
