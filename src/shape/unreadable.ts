/** The fields that a condition of a guard can rest on. */
const NEEDED = new Set(['license_type', 'supported_until']);

/** Those of them that were there and could not be read, by the object that they were in. */
const unreadable = new WeakMap<object, Set<string>>();

/** Notes that a field was left out because it could not be read, if a guard can need it. */
export function noteUnreadable(object: object, field: string): void {
  if (!NEEDED.has(field)) return;
  const fields = unreadable.get(object) ?? new Set();
  unreadable.set(object, fields.add(field));
}

/** Whether a field is absent because it could not be read: what it said is not known. */
export const wasUnreadable = (object: object, field: string): boolean =>
  unreadable.get(object)?.has(field) === true;

/** Whether a field that a guard can need is absent from an object because it could not be read. */
export const hasUnreadable = (object: object): boolean => unreadable.has(object);
