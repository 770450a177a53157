import { DeadlineExceeded, TooManyCalls } from '../../deadline.js';
import { describeFailure } from '../store-failure.js';

/** The client cannot be used just now; the message says why, and holds nothing else. */
export class NotConnected extends Error {}

/** The codes that Redis begins an error with, as far as they say what to do. */
const REPLIES = new Set([
  'ASK',
  'BUSY',
  'CLUSTERDOWN',
  'CROSSSLOT',
  'LOADING',
  'MASTERDOWN',
  'MISCONF',
  'MOVED',
  'NOAUTH',
  'NOPERM',
  'NOREPLICAS',
  'OOM',
  'READONLY',
  'TRYAGAIN',
  'UNBLOCKED',
  'WRONGPASS',
  'WRONGTYPE',
]);

/**
 * What went wrong, in a few words. Never the error's own text: ioredis puts the command with its key
 * and value beside it, and a script's error can quote them.
 */
export function describeRedisFailure(error: unknown, timeout: number): string {
  if (error instanceof DeadlineExceeded) return `did not answer within ${timeout} ms`;
  if (error instanceof TooManyCalls) return 'was not sent, for too many commands are unanswered';
  if (error instanceof NotConnected) return `was not sent, for ${error.message}`;
  const [reply = ''] = error instanceof Error ? error.message.split(' ', 1) : [];
  return REPLIES.has(reply) ? `failed (${reply})` : describeFailure(error);
}
