/**
 * Freezes a value that came out of JSON, and all that is in it. Done once, when an answer is read: a
 * handler that changes what it was given then harms no other request, and a hit copies nothing.
 */
export function deepFreeze<T>(value: T): T {
  walk(value, (each) => {
    if (Object.isFrozen(each)) return false;
    dropProto(each);
    Object.freeze(each);
    return true;
  });
  return value;
}

/**
 * Leaves out the name `__proto__`, wherever it is. JSON can hold it, nothing documented is called so,
 * and whoever copies the object would take over a prototype. {@link deepFreeze} does it too.
 */
export function withoutProto<T>(value: T): T {
  walk(value, (each) => {
    // What is frozen went through `deepFreeze`.
    if (Object.isFrozen(each)) return false;
    dropProto(each);
    return true;
  });
  return value;
}

function dropProto(value: object): void {
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__');
}

/** Not by recursion: JSON may be nested deeper than the stack is. */
function walk(value: unknown, enter: (each: object) => boolean): void {
  const open = [value];
  while (open.length > 0) {
    const each = open.pop();
    if (typeof each !== 'object' || each === null || !enter(each)) continue;
    for (const inner of Object.values(each)) {
      if (typeof inner === 'object') open.push(inner);
    }
  }
}
