import type { WireRequest } from '../http/transport.js';

/** How parameters are sent: the specification does not show it, deployments take all three. */
export type ValidationEncoding = 'form' | 'json' | 'query';

/** The parameters, as the part of a request that carries them. */
export function encode(
  parameters: Record<string, string>,
  encoding: ValidationEncoding,
): Pick<WireRequest, 'query' | 'body' | 'contentType'> {
  if (encoding === 'json') {
    return { body: JSON.stringify(parameters), contentType: 'application/json' };
  }
  const text = new URLSearchParams(parameters).toString();
  if (encoding === 'query') return { query: text };
  return { body: text, contentType: 'application/x-www-form-urlencoded' };
}
