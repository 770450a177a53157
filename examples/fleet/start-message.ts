import type { SandboxCode } from 'marketgate/sandbox';

interface Start {
  origin: string;
  workers: number;
  redis: string;
  /** Of the sandbox; none with a real marketplace. */
  codes: readonly SandboxCode[];
}

/** Where to look, and what to type. */
export function startMessage({ origin, workers, redis, codes }: Start): string {
  const [code] = codes;
  const tryIt = code
    ? `The marketplace is a sandbox in the primary process. One code, many times, one call:

    for i in $(seq 20); do curl -s -H "X-Purchase-Code: ${code.code}" \\
      ${origin}/items/${code.item_id}/download; done`
    : `Redirect URL to register with your app on the marketplace: ${origin}/callback`;
  return `
  ${workers} workers serve ${origin}/
  What each of them has done: ${origin}/fleet
  Redis: ${redis}

  ${tryIt}

  Ctrl-C stops all of them.
`;
}
