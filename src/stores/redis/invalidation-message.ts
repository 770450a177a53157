/** What is said on the channel: which key to forget, or without one all. */
export function encodeInvalidation(key: string | undefined): string {
  return JSON.stringify({ v: 1, key });
}

/**
 * What was said. A message of a version that is not known here means something that is to be
 * forgotten, so it stands for all keys. Anything else is no message at all.
 */
export function decodeInvalidation(message: string): { key: string | undefined } | undefined {
  let said: unknown;
  try {
    said = JSON.parse(message);
  } catch {
    return undefined;
  }
  const { v, key } = (said ?? {}) as { v?: unknown; key?: unknown };
  if (typeof v !== 'number') return undefined;
  if (v !== 1) return { key: undefined };
  return key === undefined || typeof key === 'string' ? { key } : undefined;
}
