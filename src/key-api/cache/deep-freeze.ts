/**
 * Freezes a value that came out of JSON, and all that is in it. Done once, when an answer is stored:
 * a handler that changes what it was given then harms no other request, and a hit copies nothing.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  // JSON can hold it as a name; whoever copies the object would take over a prototype.
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__');
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
