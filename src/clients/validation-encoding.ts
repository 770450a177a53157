import type { WireRequest } from '../http/transport.js';

/** How parameters are sent: the specification does not show it, deployments take all three. */
export type ValidationEncoding = 'form' | 'json' | 'query';

/** The parameters, as the part of a request that carries them. */
export function encode(
  parameters: Readonly<Record<string, string>>,
  encoding: ValidationEncoding,
): Pick<WireRequest, 'query' | 'body' | 'contentType'> {
  if (encoding === 'json') {
    return { body: JSON.stringify(parameters), contentType: 'application/json' };
  }
  let text = '';
  for (const name of Object.keys(parameters)) {
    text += `${text && '&'}${name}=${written(parameters[name] ?? '')}`;
  }
  if (encoding === 'query') return { query: text };
  return { body: text, contentType: 'application/x-www-form-urlencoded' };
}

/** Keys, codes and ids are nearly always plain, and then written as they are: that is much cheaper. */
const written = (value: string): string =>
  /^[\w.-]*$/.test(value) ? value : new URLSearchParams([['', value]]).toString().slice(1);
