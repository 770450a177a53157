import type { SandboxDialect } from '../dialect.js';
import type { Parameters } from '../parameters.js';

/** A parameter that was read, or the validation sentence that says why it could not be. */
export type Reading<T> = { readonly value: T } | { readonly refusal: string };

const label = (name: string): string => name.replaceAll('_', ' ');

/**
 * Reads a required string. Blanks around it do not count, and a blank one is missing (field notes,
 * `trimming`). A JSON number, an array or a repeated parameter is refused.
 */
export function requiredString(
  parameters: Parameters,
  name: string,
  dialect: SandboxDialect,
): Reading<string> {
  const given = parameters.get(name) ?? '';
  if (typeof given !== 'string') return { refusal: `The ${label(name)} must be a string.` };
  const value = dialect.trimming ? given.trim() : given;
  return value === '' ? { refusal: `The ${label(name)} field is required.` } : { value };
}

/** Reads a required integer, written in digits. */
export function requiredInteger(
  parameters: Parameters,
  name: string,
  dialect: SandboxDialect,
): Reading<number> {
  const reading = requiredString(parameters, name, dialect);
  if ('refusal' in reading) return reading;
  return /^\d{1,15}$/.test(reading.value)
    ? { value: Number(reading.value) }
    : { refusal: `The ${label(name)} must be an integer.` };
}
