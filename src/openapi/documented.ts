import { z } from 'zod';

/** What the specification says of a field, beside its type. */
interface Documentation {
  readonly description: string;
  /** A format of JSON Schema, as in `date-time`. */
  readonly format?: string;
  readonly examples?: readonly unknown[];
  /** In place of the client's own: a field whose parts are documented too. */
  readonly schema?: z.ZodType;
}

/**
 * One entry for each field of the documented type, and `optional` where the type says so: neither can
 * be forgotten.
 */
type Fields<T> = {
  readonly [K in keyof T]-?: object extends Pick<T, K>
    ? Documentation & { readonly optional: true }
    : Documentation & { readonly optional?: never };
};

/**
 * The documented shape of an object, made from the schema that the clients read it with.
 *
 * That schema is a tolerant reader: it takes an answer in which a picture or a price is missing, for
 * that must cost no customer the download. Names and types of fields come from there; which of them the
 * specification promises comes from the public type `T`, where it is known to the compiler, and so a
 * field that is missing here, or promised by mistake, does not compile. Unknown fields are allowed.
 *
 * @throws TypeError when the reader has a field that is not documented, or the other way round.
 */
export function documented<T>(
  reader: z.ZodObject,
  description: string,
  fields: Fields<T>,
): z.ZodObject {
  const entries = Object.entries<Documentation & { readonly optional?: true }>(fields);
  const undocumented = Object.keys(reader.shape).filter((name) => !(name in fields));
  if (undocumented.length > 0) throw new TypeError(`not documented: ${undocumented.join(', ')}`);
  const shape = entries.map(([name, { optional, schema, ...meta }]) => {
    const field = schema ?? promised(reader.shape[name]);
    if (field === undefined) throw new TypeError(`the clients do not read ${name}`);
    const described = field.meta(meta);
    return [name, optional ? described.optional() : described];
  });
  return z.looseObject(Object.fromEntries(shape)).meta({ description });
}

/** Without the reader's tolerance. */
const promised = (field: z.core.$ZodType | undefined): z.ZodType | undefined =>
  (field instanceof z.ZodOptional ? field.unwrap() : field) as z.ZodType | undefined;

/** An object inside another, when the reader may do without it. */
export const partOf = (reader: z.ZodObject, name: string): z.ZodObject => {
  const part = promised(reader.shape[name]);
  if (!(part instanceof z.ZodObject)) throw new TypeError(`${name} is no object`);
  return part;
};
