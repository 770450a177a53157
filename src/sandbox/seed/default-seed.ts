import { apps } from './apps.js';
import { audioItems } from './audio-items.js';
import { imageItems } from './image-items.js';
import { purchases } from './purchases.js';
import type { SandboxSeed } from './types.js';
import { users } from './users.js';
import { videoItems } from './video-items.js';
import { workspaces } from './workspaces.js';

/**
 * What a sandbox starts with when nothing else is said: two workspaces, two apps, five users, 28 items
 * from id 1042 on, and a purchase of every kind.
 *
 * @param now - The time support dates are counted from, in epoch milliseconds.
 */
export const defaultSeed = (now: number): SandboxSeed => ({
  users: users(),
  workspaces: workspaces(),
  apps: apps(),
  items: [...imageItems(), ...videoItems(), ...audioItems()].sort((a, b) => a.id - b.id),
  purchases: purchases(now),
});
