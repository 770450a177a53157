import { z } from 'zod';
import { flagText, isZeroDate } from '../model/fields.js';
import { isObject } from './is-object.js';

/** Called for each place that was mended, or emptied, with its path and what the schema wants there. */
export type OnMend = (path: string, expected: string, kind?: 'mended' | 'dropped') => void;

const at = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

/**
 * Reads known, harmless drift into the documented shape, guided by the schema of that shape. This is
 * the whole list:
 *
 * | sent | wanted | read as |
 * |---|---|---|
 * | `null` | anything that may be absent | absent |
 * | `null`, `[]` or nothing | an object | an object with nothing in it (PHP's empty map is `[]`) |
 * | number | string | its digits; of an id only a safe integer, or two people would become one |
 * | boolean | {@link flagText} | `"1"` or `"0"` |
 * | anything else | an object that must be there | an object with nothing in it; counts as left out |
 * | `"0000-00-00 …"` | a string of a certain form that may be absent | absent |
 * | digits in a string | number | the number; of an id only digits, or two would become one |
 * | `0`, `1`, `"0"`, `"1"`, `"true"`, `"false"` | boolean | the boolean |
 * | `"a,b,c"` | list | its parts |
 * | `{"0": a, "1": b}` | list | its values |
 * | `""` | a string of a certain form that may be absent | absent |
 *
 * Returns a copy where something was mended, else the value itself. What is not in the list stays as
 * it is, for the schema to refuse.
 */
export function mend(
  schema: z.core.$ZodType,
  value: unknown,
  path: string,
  onMend: OnMend,
  isOptional = false,
): unknown {
  if (is<z.ZodOptional>(schema, 'optional')) {
    if (value !== null) return mend(schema.unwrap(), value, path, onMend, true);
    onMend(path, expectedBy(schema.unwrap()));
    return undefined;
  }
  const mended = mendOne(schema, value, isOptional);
  if (mended !== value) {
    const isLost = isContainer(schema) && !isNothing(value);
    onMend(path, expectedBy(schema), isLost ? 'dropped' : 'mended');
  }
  if (is<z.ZodObject>(schema, 'object') && isObject(mended)) {
    return mendFields(schema, mended, path, onMend);
  }
  if (is<z.ZodRecord>(schema, 'record') && isObject(mended)) {
    return mendEntries(schema, mended, path, onMend);
  }
  if (is<z.ZodArray>(schema, 'array') && Array.isArray(mended)) {
    return mendElements(schema, mended, path, onMend);
  }
  return mended;
}

/** By the name of its type: `instanceof` of zod's classes is a search, and this is asked very often. */
const is = <S extends z.core.$ZodType>(
  schema: z.core.$ZodType,
  type: S['_zod']['def']['type'],
): schema is S => schema._zod.def.type === type;

const isContainer = (schema: z.core.$ZodType): boolean =>
  is(schema, 'object') || is(schema, 'record');

/** What PHP writes for an empty map. */
const isNothing = (value: unknown): boolean =>
  value === null || (Array.isArray(value) && value.length === 0);

function mendOne(schema: z.core.$ZodType, value: unknown, isOptional: boolean): unknown {
  if (isContainer(schema)) {
    return isNothing(value) || (!isOptional && !isObject(value)) ? {} : value;
  }
  if (value === null) return undefined;
  switch (schema._zod.def.type) {
    case 'string':
      if (schema === flagText && typeof value === 'boolean') return value ? '1' : '0';
      return asText(value, isOptional);
    case 'number':
      return asNumber(value, (schema as z.ZodNumber).format === 'safeint');
    case 'boolean':
      return asBoolean(value);
    case 'array':
      return asList(value);
    default:
      return value;
  }
}

/** A field, and what its value must be `typeof` not to be in need of anything. */
interface Field {
  readonly key: string;
  readonly schema: z.core.$ZodType;
  readonly settledBy: 'string' | 'number' | 'boolean' | undefined;
}

const fields = new WeakMap<z.ZodObject, readonly Field[]>();

function fieldsOf(schema: z.ZodObject): readonly Field[] {
  let found = fields.get(schema);
  if (found === undefined) {
    found = Object.entries(schema.shape).map(([key, field]) => {
      const { type } = is<z.ZodOptional>(field, 'optional')
        ? field.unwrap()._zod.def
        : field._zod.def;
      const isPlain = type === 'string' || type === 'number' || type === 'boolean';
      return { key, schema: field, settledBy: isPlain ? type : undefined };
    });
    fields.set(schema, found);
  }
  return found;
}

function asText(value: unknown, isOptional: boolean): unknown {
  const isExact = isOptional ? Number.isFinite(value) : Number.isSafeInteger(value);
  return isExact ? String(value) : value;
}

const WHOLE = /^\d+$/;
const DECIMAL = /^\s*-?\d+(\.\d+)?\s*$/;

const asNumber = (value: unknown, isId: boolean): unknown =>
  typeof value === 'string' && (isId ? WHOLE : DECIMAL).test(value) ? Number(value) : value;

function asBoolean(value: unknown): unknown {
  // Of anything else `String` makes something too, or throws: {"toString": null} is JSON as well.
  if (typeof value !== 'number' && typeof value !== 'string') return value;
  const text = String(value).toLowerCase();
  if (text === '1' || text === 'true') return true;
  return text === '0' || text === 'false' ? false : value;
}

function asList(value: unknown): unknown {
  if (typeof value === 'string') {
    return value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  }
  const isNumbered = isObject(value) && Object.keys(value).every((key) => /^\d+$/.test(key));
  return isNumbered ? Object.values(value) : value;
}

function mendFields(
  schema: z.ZodObject,
  value: Readonly<Record<string, unknown>>,
  path: string,
  onMend: OnMend,
): Readonly<Record<string, unknown>> {
  let copy: Record<string, unknown> = value;
  for (const { key, schema: field, settledBy } of fieldsOf(schema)) {
    const before = value[key];
    // Nearly all are as they should be, also in what is drifting elsewhere. "" can stand for nothing.
    if (typeof before === settledBy && before !== '' && !isZeroDate(before)) continue;
    if (before === undefined && !isContainer(field)) continue;
    let after = mend(field, before ?? null, at(path, key), onMend);
    const isEmpty = after === '' || isZeroDate(after);
    if (isEmpty && is(field, 'optional') && !z.safeParse(field, after).success) {
      onMend(at(path, key), 'string');
      after = undefined;
    }
    if (after === before) continue;
    if (copy === value) copy = { ...value };
    if (after === undefined) delete copy[key];
    else copy[key] = after;
  }
  return copy;
}

function mendEntries(
  schema: z.ZodRecord,
  value: Readonly<Record<string, unknown>>,
  path: string,
  onMend: OnMend,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(value).map(
    ([key, entry]) => [key, mend(schema.valueType, entry, `${path}.*`, onMend, true)] as const,
  );
  const changed = entries.some(([key, entry]) => entry !== value[key]);
  return changed ? Object.fromEntries(entries.filter(([, entry]) => entry !== undefined)) : value;
}

function mendElements(
  schema: z.ZodArray,
  value: unknown[],
  path: string,
  onMend: OnMend,
): unknown[] {
  const isOfTexts = is(schema.element, 'string');
  if (isOfTexts && value.every((element) => typeof element === 'string')) return value;
  const elements = value.map((element, i) =>
    mend(schema.element, element, `${path}[${i}]`, onMend, true),
  );
  const changed = elements.some((element, i) => element !== value[i]);
  return changed ? elements.filter((element) => element !== undefined) : value;
}

function expectedBy(schema: z.core.$ZodType): string {
  const type = schema._zod.def.type;
  return type === 'record' ? 'object' : type === 'array' ? 'list' : type;
}
