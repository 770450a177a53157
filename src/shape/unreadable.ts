/** The fields of an answer that were there and could not be read, by the object that they were in. */
const unreadable = new WeakMap<object, Set<string>>();

/** Notes that a field was left out because it could not be read. */
export function noteUnreadable(object: object, field: string): void {
  const fields = unreadable.get(object) ?? new Set();
  unreadable.set(object, fields.add(field));
}

/** Whether a field is absent because it could not be read: what it said is not known. */
export const wasUnreadable = (object: object, field: string): boolean =>
  unreadable.get(object)?.has(field) === true;

/** Whether any field of an object is. */
export const hasUnreadable = (object: object): boolean => unreadable.has(object);
