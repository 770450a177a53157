import type { Request } from 'express';
import type { SandboxContext } from '../context.js';
import type { SeedWorkspace } from '../data/schema.js';
import { bodyParameters, originOf, queryParameters, Refused } from '../request.js';

/** A request for an endpoint of the key API. */
export interface KeyApiCall extends SandboxContext {
  /** Whose api_key it carries; `undefined` for a key that nobody has. Only what is theirs can be read. */
  readonly workspace: Readonly<SeedWorkspace> | undefined;
  /** Where the caller knows the sandbox. */
  readonly origin: string;
  /** Reads a required parameter. @throws Refused with the service's validation sentence. */
  readonly required: (name: string) => string;
}

/** What stands in a successful answer; `undefined` for the documented error. */
export type Endpoint = (call: KeyApiCall) => object | undefined;

/**
 * Reads a request. Parameters come in the query, a form or a JSON object; blanks around one do not count, and
 * a blank one is missing (field notes, `trimming`). A JSON number, an array or a repeated one is refused.
 */
export function callOf(context: SandboxContext, req: Request): KeyApiCall {
  const parameters = new Map([...queryParameters(req), ...bodyParameters(req)]);
  const required = (name: string): string => {
    const label = name.replaceAll('_', ' ');
    const given = parameters.get(name) ?? '';
    if (typeof given !== 'string') throw new Refused(400, `The ${label} must be a string.`);
    const value = context.dialect.trimming ? given.trim() : given;
    if (value === '') throw new Refused(400, `The ${label} field is required.`);
    return value;
  };
  const key = required('api_key');
  const workspace = context.data.workspaces.find(({ api_key }) => api_key === key);
  return { ...context, workspace, origin: originOf(req), required };
}
