import type { SandboxData } from '../data/sandbox-data.js';
import type { SeedWorkspace } from '../data/schema.js';
import type { SandboxDialect } from '../dialect.js';
import { isSameSecret, type Parameters } from '../request.js';

/** A parameter is missing or ill-typed. The message is the service's validation sentence. */
export class ParameterRefused extends Error {
  override readonly name = 'ParameterRefused';
  readonly status = 400;
}

const label = (name: string): string => name.replaceAll('_', ' ');

/**
 * Reads a required string. Blanks around it do not count, and a blank one is missing (field notes,
 * `trimming`). A JSON number, an array or a repeated parameter is refused.
 *
 * @throws ParameterRefused
 */
export function requiredString(
  parameters: Parameters,
  name: string,
  dialect: SandboxDialect,
): string {
  const given = parameters.get(name) ?? '';
  if (typeof given !== 'string') throw new ParameterRefused(`The ${label(name)} must be a string.`);
  const value = dialect.trimming ? given.trim() : given;
  if (value === '') throw new ParameterRefused(`The ${label(name)} field is required.`);
  return value;
}

/**
 * Reads a required integer, written in digits.
 *
 * @throws ParameterRefused
 */
export function requiredInteger(
  parameters: Parameters,
  name: string,
  dialect: SandboxDialect,
): number {
  const value = requiredString(parameters, name, dialect);
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new ParameterRefused(`The ${label(name)} must be an integer.`);
}

/** The workspace that an api_key belongs to, if any: each operation acts on what belongs to its account. */
export const workspaceOfKey = (
  { workspaces }: SandboxData,
  apiKey: string,
): Readonly<SeedWorkspace> | undefined =>
  workspaces.find(({ api_key }) => api_key !== undefined && isSameSecret(apiKey, api_key));
